-- Further domains. Read docs/decisions/0029-domains.md before changing anything here.

-- A link of one has the code `host/code`, so that the key of its row, of its versions and of what caches hold is one text, as
-- before; those of the default domain stay as they are.
create table domains (
  host text collate "C" primary key,
  root_url text,
  not_found_url text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Since then its host is answered 404. It never leads to links of the default domain again, so the row stays.
  removed_at timestamptz
);

-- Who may make links there, besides the owner.
create table domain_tenants (
  host text collate "C" not null references domains on delete cascade,
  tenant text not null references tenants on delete cascade,
  primary key (host, tenant)
);
create index domain_tenants_by_tenant on domain_tenants (tenant);

-- Another number whenever the list is another one: each pass of a process looks at it, and reads the list anew.
alter table ql_meta add column domains_version bigint not null default 0;
create function ql_count_domains_version() returns trigger language plpgsql as $$
begin
  update ql_meta set domains_version = domains_version + 1;
  return null;
end $$;
create trigger domains_count_version after insert or update or delete or truncate on domains
  for each statement execute function ql_count_domains_version();
alter table domains enable always trigger domains_count_version;
