-- When a link begins, where it leads after its end, and whether a visitor's query is said to its target.
-- Read docs/decisions/0027-windows.md before changing anything here.

alter table links
  add column starts_at timestamptz,
  add column expired_url text,
  add column forward_query boolean not null default false;

-- A row that still led somewhere is announced when it goes: one that has expired leads to its expired_url.
create or replace function ql_announce_delete() returns trigger language plpgsql as $$
begin
  insert into outbox (code, version)
    select code, version from old_rows
    where deleted_at is null and (expires_at is null or expires_at > now() or expired_url is not null);
  return null;
end $$;
