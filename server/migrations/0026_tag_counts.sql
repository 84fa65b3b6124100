-- How many links a tag has, beside the tag. Exact, and nobody waits for it: who tags a link writes down by how much the number changes,
-- in rows of his own, and now and then these are added up. Read docs/decisions/0041-tag-counts.md before changing anything here.

alter table tags add column links bigint not null default 0;

create table tag_changes (
  tag_id bigint not null,
  links bigint not null
);
create index tag_changes_by_tag on tag_changes (tag_id) include (links);

create function ql_count_tags() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into tag_changes select tag_id, count(*) from new_rows group by tag_id;
  elsif tg_op = 'DELETE' then
    insert into tag_changes select tag_id, -count(*) from old_rows group by tag_id;
  elsif tg_op = 'UPDATE' then
    insert into tag_changes select tag_id, sum(n) from (
      select tag_id, 1 as n from new_rows union all select tag_id, -1 from old_rows
    ) as both_rows group by tag_id having sum(n) <> 0;
  else
    truncate tag_changes;
    update tags set links = 0 where links <> 0;
  end if;
  return null;
end $$;
create trigger link_tags_count_insert after insert on link_tags
  referencing new table as new_rows for each statement execute function ql_count_tags();
create trigger link_tags_count_update after update on link_tags
  referencing old table as old_rows new table as new_rows for each statement execute function ql_count_tags();
create trigger link_tags_count_delete after delete on link_tags
  referencing old table as old_rows for each statement execute function ql_count_tags();
create trigger link_tags_count_truncate after truncate on link_tags
  for each statement execute function ql_count_tags();

-- The triggers hold off who tags links until this has ended.
update tags set links = counted.links
  from (select tag_id, count(*) as links from link_tags group by tag_id) as counted where counted.tag_id = tags.id;
