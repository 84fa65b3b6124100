-- A standby that takes the place of its primary may lack what was committed last. The last heartbeat that it has says how far it knows all
-- that anybody can have read; the first one of its own keeps that in `before`.
-- Read docs/decisions/0052-failover.md.
alter table ql_beat add column before json;

create function ql_beat_of(beat ql_beat) returns json language sql stable as $$
  select case when beat.identity is not null then
    json_build_object('identity', beat.identity, 'snapshot', beat.snapshot::text, 'atS', extract(epoch from beat.at)::float8) end
$$;
