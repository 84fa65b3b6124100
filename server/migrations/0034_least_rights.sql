-- What needs the rights of the tables' owner although it happens every day: partitions of visits are made ahead, and dropped when they are
-- old. These two functions do it with the owner's rights for a role that may only read and write rows, and can do nothing else.
-- Read docs/OPERATE.md, "With least rights", and docs/decisions/0047-poolers-tls-least-rights.md.

alter function ql_visit_partitions(timestamptz, timestamptz) security definer set search_path = public, pg_temp;

-- False: there are days in it that are in no month yet.
create or replace function ql_drop_visit_partition(name text) returns boolean language plpgsql
  security definer set search_path = public, pg_temp as $$
declare
  parent text;
  is_empty boolean;
begin
  select upper_table.relname into parent
  from pg_inherits join pg_class as part on part.oid = inhrelid join pg_class as upper_table on upper_table.oid = inhparent
  where part.oid = to_regclass('public.' || quote_ident(name));
  if parent is null or parent not in ('visit_hours', 'visit_days', 'visit_visitors', 'visit_months') then
    raise exception '% is no partition of visits', name;
  end if;
  if parent = 'visit_days' then
    execute format('select not exists (select from %I)', name) into is_empty;
    if not is_empty then return false; end if;
  end if;
  execute format('drop table %I', name);
  return true;
end $$;

-- What runs with the owner's rights is for those who were given it.
revoke execute on function ql_visit_partitions(timestamptz, timestamptz), ql_drop_visit_partition(text) from public;
