-- Who came: what is kept of visits. Read docs/decisions/0036-visits-kept.md before changing anything here.
--
-- A row says what is known of a subject in an hour, a day or a month. A subject is a link (l/ and its id), a tag (g/ and its id) or a
-- tenant (t/ and its id). Beside totals it has a column for each dimension, in which server/visits/cells.ts writes the values and how often
-- each came. What a visit did not say is in none of them: it is what is left of the total.

create table visit_hours (
  subject text collate "C" not null,
  at timestamptz not null,
  total bigint not null default 0,
  people bigint not null default 0,
  -- Of the people: who does not want to be counted further.
  withheld bigint not null default 0,
  -- Visits that were looked at; where they are fewer than the total, the rest is told by weights.
  detailed bigint not null default 0,
  referrer bytea,
  utm_source bytea,
  utm_medium bytea,
  utm_campaign bytea,
  country bytea,
  browser bytea,
  os bytea,
  device bytea,
  language bytea,
  bot bytea,
  target bytea,
  primary key (subject, at)
) partition by range (at);
-- Rows that are large are written every second while they are new: to compress them anew each time takes a third of all that keeping visits costs.
alter table visit_hours
  alter referrer set storage external, alter utm_source set storage external, alter utm_medium set storage external,
  alter utm_campaign set storage external, alter country set storage external, alter browser set storage external,
  alter os set storage external, alter device set storage external, alter language set storage external,
  alter bot set storage external, alter target set storage external;

-- At the first hour of the day, and of the month, of VISITS_TZ.
create table visit_days (like visit_hours including all) partition by range (at);
create table visit_months (like visit_hours including all) partition by range (at);

-- How many different people, of a UTC day. The registers go when nobody can come to that day any more, and their estimate stays.
create table visit_visitors (
  subject text collate "C" not null,
  at timestamptz not null,
  visitors integer not null default 0,
  at_least boolean not null default false,
  registers bytea,
  primary key (subject, at)
) partition by range (at);
create index visit_visitors_open on visit_visitors (at) where registers is not null;

-- Partitions from `first` to `last`: how many were made. The upkeep makes them ahead, and drops those that are old.
create function ql_visit_partitions(first timestamptz, last timestamptz) returns integer language plpgsql as $$
declare
  kind record;
  at timestamptz;
  next timestamptz;
  name text;
  made integer := 0;
begin
  for kind in select * from (values
    ('visit_hours', 'week', 'IYYY"w"IW'), ('visit_days', 'month', 'YYYY"m"MM'), ('visit_visitors', 'month', 'YYYY"m"MM'),
    ('visit_months', 'year', 'YYYY')) as kinds (parent, unit, form)
  loop
    at := date_trunc(kind.unit, first, 'UTC');
    while at <= last loop
      next := (at at time zone 'UTC' + ('1 ' || kind.unit)::interval) at time zone 'UTC';
      name := kind.parent || '_' || to_char(at at time zone 'UTC', kind.form);
      if to_regclass(name) is null then
        -- Room beside each row, which is written again every second while it is new.
        execute format('create table %I partition of %I for values from (%L) to (%L) with (fillfactor = 70)', name, kind.parent, at, next);
        made := made + 1;
      end if;
      at := next;
    end loop;
  end loop;
  return made;
end $$;
select ql_visit_partitions(ql_now() - interval '14 days', ql_now() + interval '28 days');

-- A time as the first full hour that follows it, or is it: days of a zone that is shifted by half an hour begin there.
create function ql_full_hour(at timestamptz) returns timestamptz language sql immutable parallel safe as
  $$ select date_trunc('hour', at + interval '59 minutes 59.999999 seconds', 'UTC') $$;

-- Subjects that are gone, with rows that may still be here: the upkeep removes those in small steps, and the row last.
create table dead_visits (subject text collate "C" primary key);

create function ql_bury_visits() returns trigger language plpgsql as $$
begin
  insert into dead_visits select tg_argv[0] || old.id on conflict do nothing;
  return null;
end $$;
create trigger links_bury_visits after delete on links for each row execute function ql_bury_visits('l/');
-- A tenant that creates a code again gets its row with a new id.
create trigger links_bury_visits_replaced after update of id on links
  for each row when (old.id <> new.id) execute function ql_bury_visits('l/');
create trigger tags_bury_visits after delete on tags for each row execute function ql_bury_visits('g/');
create trigger tenants_bury_visits after delete on tenants for each row execute function ql_bury_visits('t/');
