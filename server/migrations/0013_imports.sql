-- Links that come from elsewhere. Read docs/decisions/0031-imports.md before changing anything here.

create table imports (
  id text primary key,
  -- The order of their beginnings.
  seq bigint generated always as identity unique,
  tenant text not null references tenants (id) on delete cascade,
  -- The further domain where links go that name none; null: the default one.
  domain text,
  format text not null,
  on_conflict text not null,
  dry_run boolean not null,
  -- The name of the key that asked, and what is said of links whose file does not name one.
  created_by text,
  -- receiving: its file is still coming, and nobody else sees it. Then queued, running, done or failed.
  state text not null default 'receiving',
  -- Of the file; and what became of those that were worked off.
  rows bigint not null default 0,
  created bigint not null default 0,
  replaced bigint not null default 0,
  skipped bigint not null default 0,
  refused bigint not null default 0,
  warned bigint not null default 0,
  -- Of the part that is next, by our doing.
  tries integer not null default 0,
  -- Why it has failed.
  failure text,
  -- The columns of the file, for the list of refused rows.
  columns text[] not null default '{}',
  created_at timestamptz not null default now(),
  -- When a part of it was worked off last.
  worked_at timestamptz,
  ended_at timestamptz
);
create index imports_by_tenant on imports (tenant, seq desc);
create index imports_to_work on imports (worked_at nulls first, seq) where state in ('queued', 'running');

-- What is still to be done: a part is worked off, and removed, in one transaction, so each is done once whoever dies meanwhile.
create table import_parts (
  import_id text not null references imports on delete cascade,
  n integer not null,
  rows json not null,
  primary key (import_id, n)
);
-- Written once and read a few times: packing it would take longer than writing it.
alter table import_parts alter column rows set storage external;

-- What a person has to look at, by parts: {"line", "reason", "source"} of refused rows, {"line", "code", "reason"} of warnings.
create table import_findings (
  import_id text not null references imports on delete cascade,
  n integer not null,
  refused json not null,
  warnings json not null,
  primary key (import_id, n)
);

-- Codes that a dry run would have made: no later row may have them again.
create table import_tried (
  import_id text not null references imports on delete cascade,
  code text collate "C" not null,
  primary key (import_id, code)
);

-- Clicks that were counted elsewhere, before the link came here. Beside those that are counted here (click_totals), which quotas
-- and statistics go by. `clicks` is what lists are ordered by: the sum of both.
alter table link_details add column clicks_before bigint not null default 0;
