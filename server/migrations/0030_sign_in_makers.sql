-- Who has made a link that signs in: it is worth what that one may give, and ends with him. Both null: a server of the version
-- before has made it.
alter table sign_in_links
  add column if not exists by_key text references api_keys on delete cascade,
  add column if not exists by_member text references members on delete cascade;

-- A database that was put back has sessions that were ended since, and links that were used: a new epoch says that it was.
create or replace function ql_end_sessions() returns trigger language plpgsql as $$
begin
  delete from sessions;
  delete from sign_in_links;
  return null;
end $$;
create or replace trigger ql_meta_end_sessions after update of epoch on ql_meta
  for each row when (old.epoch is distinct from new.epoch) execute function ql_end_sessions();
