-- Whoever changes a link and its details in one transaction has written the row of details already: it is not written a second time, with all
-- that its indexes take. The function is that of 0008, but for the last condition of a change.
create or replace function ql_keep_details() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into link_details (link_id, tenant, created_at, updated_at)
      select id, tenant, created_at, updated_at from new_rows where deleted_at is null
      on conflict (link_id) do nothing;
  elsif tg_op = 'UPDATE' then
    -- Not "not exists": a session whose first change was of one row would keep a plan that is quadratic in the rows.
    delete from link_tags using old_rows as was
      where link_id = was.id and was.id not in (select id from new_rows where deleted_at is null);
    delete from link_details using old_rows as was
      where link_id = was.id and was.id not in (select id from new_rows where deleted_at is null);
    insert into link_details as d (link_id, tenant, created_at, updated_at)
      select id, tenant, created_at, updated_at from new_rows where deleted_at is null
      on conflict (link_id) do update set tenant = excluded.tenant, updated_at = greatest(d.updated_at, excluded.updated_at)
        where d.tenant <> excluded.tenant or d.updated_at < excluded.updated_at;
  elsif tg_op = 'DELETE' then
    delete from link_tags using old_rows as was where link_id = was.id;
    delete from link_details using old_rows as was where link_id = was.id;
  else
    truncate link_tags, link_details;
  end if;
  return null;
end $$;
