-- What people say of a link, and no redirect depends on: a title, a note, tags, who made it. Changed here, a link draws no version
-- and tells nobody. Read docs/decisions/0026-details.md before changing anything here.

-- One row for each link that is not deleted, with what lists are ordered by.
create table link_details (
  link_id bigint primary key,
  tenant text not null,
  created_at timestamptz not null,
  -- Of the link or of its details, whichever was later.
  updated_at timestamptz not null,
  created_by text,
  title text,
  note text,
  -- Counts the changes of details, as the version counts those of the link.
  revision integer not null default 0,
  -- Its total as it was when lists were last told.
  clicks bigint not null default 0
);

create table tags (
  id bigint generated always as identity primary key,
  tenant text not null references tenants (id),
  -- What makes two spellings one tag, and the spelling that is shown.
  key text collate "C" not null,
  name text not null,
  unique (tenant, key)
);

-- Of live links only. No references: who empties a tag holds its tenant's lock, and a link's rows go with the link.
create table link_tags (
  tag_id bigint not null,
  link_id bigint not null,
  -- The link's.
  created_at timestamptz not null,
  primary key (link_id, tag_id)
);
create index link_tags_by_tag on link_tags (tag_id, created_at, link_id);

-- Details come and go with their link, whoever writes it: a server of the version before, an import, a hand in psql. A code that
-- is created again has a new id, so it inherits none.
create function ql_keep_details() returns trigger language plpgsql as $$
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
      on conflict (link_id) do update set tenant = excluded.tenant, updated_at = greatest(d.updated_at, excluded.updated_at);
  elsif tg_op = 'DELETE' then
    delete from link_tags using old_rows as was where link_id = was.id;
    delete from link_details using old_rows as was where link_id = was.id;
  else
    truncate link_tags, link_details;
  end if;
  return null;
end $$;
create trigger links_keep_details_insert after insert on links
  referencing new table as new_rows for each statement execute function ql_keep_details();
create trigger links_keep_details_update after update on links
  referencing old table as old_rows new table as new_rows for each statement execute function ql_keep_details();
create trigger links_keep_details_delete after delete on links
  referencing old table as old_rows for each statement execute function ql_keep_details();
create trigger links_keep_details_truncate after truncate on links
  for each statement execute function ql_keep_details();

-- Those of the links that there are come in a transaction of their own (0032), since the triggers hold off all who write links until this one ends.
