-- Tenants that were deleted, and what reconciles their number of links with what Redis has counted.
-- Read server/quotas/tenant-quota.ts before changing anything here.

-- A deleted tenant's row stays until its last link is purged: until then its codes, and its id, are nobody else's.
alter table tenants add column deleted_at timestamptz;
create index api_keys_by_tenant on api_keys (tenant, created_at);

-- Which changes of a tenant's number of links are in the rows of `links`, by the id under which Redis was told of them:
-- '+…' a create, '-…' a delete. Kept for minutes.
create table quota_ops (
  id text primary key,
  tenant text not null,
  at timestamptz not null default clock_timestamp()
);
create index quota_ops_by_tenant on quota_ops (tenant, at);
create index quota_ops_by_time on quota_ops (at);

create table quota_nights (
  only_row boolean primary key default true check (only_row),
  -- When all tenants were last counted by the nightly job.
  synced_at timestamptz not null default '-infinity'
);
insert into quota_nights default values;
