-- Whether GET /{code}+ shows where a tenant's links lead. No redirect depends on it, so it is read on that way only.
alter table tenants add column preview boolean not null default false;
