-- A tenant that gets the id of one that is gone has visits of its own, while those of the other are still being removed.
-- Read docs/decisions/0042-visits-under-pressure.md before changing anything here.

-- What its rows of visits are called. Null: t/ and its id. No id has a # in it.
alter table tenants add column visits_subject text collate "C";
create sequence visit_subjects;

create function ql_name_visits() returns trigger language plpgsql as $$
begin
  if exists (select from dead_visits where subject = 't/' || new.id) then
    new.visits_subject := 't/' || new.id || '#' || nextval('visit_subjects');
  end if;
  return new;
end $$;
create trigger tenants_name_visits before insert on tenants for each row execute function ql_name_visits();

create function ql_bury_visits_of_tenant() returns trigger language plpgsql as $$
begin
  insert into dead_visits select coalesce(old.visits_subject, 't/' || old.id) on conflict do nothing;
  return null;
end $$;
drop trigger tenants_bury_visits on tenants;
create trigger tenants_bury_visits after delete on tenants for each row execute function ql_bury_visits_of_tenant();

-- The partition of one table that a time falls into: whether it was made. For whoever writes into the past.
create function ql_visit_partition(parent text, at timestamptz) returns boolean language plpgsql as $$
declare
  unit text := case parent when 'visit_hours' then 'week' when 'visit_months' then 'year' else 'month' end;
  form text := case parent when 'visit_hours' then 'IYYY"w"IW' when 'visit_months' then 'YYYY' else 'YYYY"m"MM' end;
  first timestamptz := date_trunc(unit, at, 'UTC');
  next timestamptz := (first at time zone 'UTC' + ('1 ' || unit)::interval) at time zone 'UTC';
  name text := parent || '_' || to_char(first at time zone 'UTC', form);
begin
  if to_regclass(name) is not null then
    return false;
  end if;
  execute format('create table %I partition of %I for values from (%L) to (%L) with (fillfactor = 70)', name, parent, first, next);
  return true;
end $$;
