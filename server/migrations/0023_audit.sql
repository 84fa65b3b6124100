-- Who did what. Read server/audit/store.ts and docs/decisions/0037-audit.md before changing anything here.

-- No foreign keys: what was done stays known when its tenant, key or link is gone.
create table audit (
  -- The order of lists. It counts what all tenants do, so nobody is shown it.
  n bigint generated always as identity primary key,
  id uuid not null default gen_random_uuid(),
  at timestamptz not null default now(),
  -- Whose log it stands in.
  tenant text collate "C" not null,
  action text not null,
  kind text not null,
  target text collate "C" not null,
  by_kind text not null,
  by_id text not null,
  by_name text not null,
  by_tenant text not null,
  session_id text,
  -- Removed by upkeep, long before the entry.
  address text,
  changes jsonb
);
create index audit_by_tenant on audit (tenant, n desc);
create index audit_by_target on audit (kind, target, n desc);
create index audit_addresses on audit (at) where address is not null;
-- Small, for the removal of what is old: entries lie in the order of their time.
create index audit_to_remove on audit using brin (at);
