-- Links, their versions, and the outbox that tells every process what changed.
-- Read docs/decisions/0004-coherence.md before changing anything here.

create table ql_meta (
  only_row boolean primary key default true check (only_row),
  -- Rewritten when the contents of this database can no longer be compared with what caches remember of it.
  epoch uuid not null default gen_random_uuid(),
  -- What ql_identity() said when the server last looked: a difference means that this is a restored copy.
  identity text,
  salt text,
  salt_fingerprint text,
  salt_generation integer not null default 1
);
insert into ql_meta default values;

create sequence link_version_seq;
create sequence link_id_seq;
create sequence link_counter_seq minvalue 0 start 0;

create table tenants (
  id text primary key,
  name text not null,
  tier text not null,
  link_quota integer,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
insert into tenants (id, name, tier) values ('owner', 'Owner', 'unlimited');

create table api_keys (
  id text primary key,
  tenant text not null references tenants (id),
  name text not null,
  key_hash bytea not null unique,
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now()
);

create table links (
  code text collate "C" primary key,
  id bigint not null unique default nextval('link_id_seq'),
  url text not null,
  permanent boolean not null default false,
  enabled boolean not null default true,
  expires_at timestamptz,
  monthly_hits integer check (monthly_hits > 0),
  tenant text not null default 'owner' references tenants (id),
  -- How a generated code was made; null for a custom one.
  counter bigint,
  salt_generation integer,
  version bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index links_by_tenant on links (tenant, id desc) where deleted_at is null;
create index links_by_id on links (id desc) where deleted_at is null;
create index links_by_counter on links (salt_generation, counter desc) where counter is not null;
create index links_to_purge_expired on links (expires_at) where expires_at is not null;
create index links_to_purge_deleted on links (deleted_at) where deleted_at is not null;

create table outbox (
  id bigint generated always as identity,
  xid xid8 not null default pg_current_xact_id(),
  code text collate "C" not null,
  version bigint not null,
  at timestamptz not null default clock_timestamp(),
  primary key (xid, id)
);
create index outbox_by_time on outbox using brin (at);

-- The version is drawn while the row's lock is held: an update's BEFORE trigger runs with the row locked.
create function ql_draw_version() returns trigger language plpgsql as $$
begin
  new.version := nextval('link_version_seq');
  if tg_op = 'UPDATE' then
    -- Where a hand has set the sequence back, news must not look older than what it follows.
    if new.version <= old.version then
      new.version := setval('link_version_seq', old.version + 1);
    end if;
    new.updated_at := now();
  end if;
  return new;
end $$;
create trigger links_draw_version before insert or update on links
  for each row execute function ql_draw_version();
alter table links enable always trigger links_draw_version;

-- One statement, one insert into the outbox, in the same transaction: no code path and no hand in psql can forget it.
create function ql_announce_insert() returns trigger language plpgsql as $$
begin
  insert into outbox (code, version) select code, version from new_rows;
  return null;
end $$;
create function ql_announce_update() returns trigger language plpgsql as $$
begin
  insert into outbox (code, version) select code, version from new_rows;
  -- A code that was changed by hand leaves its old name behind.
  insert into outbox (code, version)
    select code, version from old_rows where code not in (select code from new_rows);
  return null;
end $$;
-- A row that was live when it went is announced; what the purge removes has been absent for 30 days.
create function ql_announce_delete() returns trigger language plpgsql as $$
begin
  insert into outbox (code, version)
    select code, version from old_rows where deleted_at is null and (expires_at is null or expires_at > now());
  return null;
end $$;
-- Nothing is said of single rows when all of them go: whatever a cache remembers is from another epoch.
create function ql_announce_truncate() returns trigger language plpgsql as $$
begin
  update ql_meta set epoch = gen_random_uuid();
  return null;
end $$;
create trigger links_announce_insert after insert on links
  referencing new table as new_rows for each statement execute function ql_announce_insert();
create trigger links_announce_update after update on links
  referencing old table as old_rows new table as new_rows for each statement execute function ql_announce_update();
create trigger links_announce_delete after delete on links
  referencing old table as old_rows for each statement execute function ql_announce_delete();
create trigger links_announce_truncate after truncate on links
  for each statement execute function ql_announce_truncate();
alter table links enable always trigger links_announce_insert;
alter table links enable always trigger links_announce_update;
alter table links enable always trigger links_announce_delete;
alter table links enable always trigger links_announce_truncate;

-- Which database this is. A restore changes at least one part: another cluster, a promoted replica's timeline, a new
-- database, a re-created table. What remains (rows put back by hand) shows in a version sequence that went back.
create function ql_identity() returns text language sql stable as $$
  select concat_ws('/',
    (select system_identifier from pg_control_system()),
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    (select oid from pg_database where datname = current_database()),
    'links'::regclass::oid,
    (select epoch from ql_meta))
$$;

-- Whoever switches the triggers off, as pg_restore --disable-triggers does, changes links and announces nothing.
-- Null while one of them is off or missing; afterwards another text than before, from that very commit on.
create function ql_announcing() returns text language sql stable as $$
  select string_agg(distinct xmin::text, '.') from pg_trigger
  where tgrelid = 'links'::regclass and tgenabled in ('A', 'O')
    and tgname in ('links_draw_version', 'links_announce_insert', 'links_announce_update', 'links_announce_delete',
                   'links_announce_truncate')
  having count(*) = 5
$$;

create table idempotency_keys (
  tenant text not null references tenants (id),
  key text not null,
  body_hash bytea not null,
  code text collate "C",
  link_id bigint,
  -- Not jsonb: a repeated answer is the same to the byte.
  answer json,
  created_at timestamptz not null default now(),
  primary key (tenant, key)
);
create index idempotency_keys_by_time on idempotency_keys (created_at);

create table clicks (
  link_id bigint not null,
  hour timestamptz not null,
  clicks bigint not null,
  primary key (link_id, hour)
);
