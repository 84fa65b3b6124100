-- A standby that takes the place of its primary may lack what was committed last. The last heartbeat that it has says how far it knows all
-- that anybody can have read; the first one of its own keeps that in `before`.
-- Read docs/decisions/0052-failover.md.
--
-- Two standbys of one primary that are promoted one after the other may both call their timeline the second. So the first heartbeat of a
-- timeline gives it a name that no other has. A database that was never promoted has none, and is called as before.
alter table ql_beat add column before json, add column timeline text;

create function ql_beat_of(beat ql_beat) returns json language sql stable as $$
  select case when beat.identity is not null then
    json_build_object('identity', beat.identity, 'snapshot', beat.snapshot::text, 'atS', extract(epoch from beat.at)::float8) end
$$;

create function ql_identity_on(timeline text) returns text language sql stable as $$
  select concat_ws('/',
    (select system_identifier from pg_control_system()),
    timeline,
    (select oid from pg_database where datname = current_database()),
    'links'::regclass::oid,
    (select epoch from ql_meta))
$$;

create function ql_timeline() returns text language sql stable as $$
  select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
$$;

create or replace function ql_identity() returns text language sql stable as $$
  select ql_identity_on(coalesce((select timeline from ql_beat where split_part(timeline, '-', 1) = ql_timeline()), ql_timeline()))
$$;
