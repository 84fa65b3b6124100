-- What a link has been clicked in all, beside its hours: no page of links may cost more with every hour of their age.
-- Read docs/decisions/0008-click-spool.md before changing anything here.

-- Until this is committed, nobody counts. What a live server counts meanwhile waits in its spools; redirects, the API and
-- whoever reads are not held up.
lock table clicks in share row exclusive mode;

create table click_totals as select link_id, sum(clicks)::bigint as clicks from clicks group by link_id;
alter table click_totals alter column link_id set not null, alter column clicks set not null;
alter table click_totals add primary key (link_id);
-- Room beside each row, which is updated with every batch.
alter table click_totals set (fillfactor = 70);

-- Links that are gone, with clicks that may still be here: upkeep removes those in small steps, and the row last.
create table dead_links (id bigint primary key);
insert into dead_links select link_id from click_totals where not exists (select from links where id = link_id);

-- Triggers, so that a total is the sum of its rows whoever writes them: workers of the version before, upkeep, a hand in
-- psql. In the order of the ids, as the rows themselves, so that few who count at the same time wait for each other.
create function ql_add_clicks(ids bigint[], more bigint[]) returns void language plpgsql as $$
begin
  if ids is null then return; end if;
  with added as (
    insert into click_totals as total (link_id, clicks)
    select id, n from unnest(ids, more) as m (id, n) order by id
    on conflict (link_id) do update set clicks = total.clicks + excluded.clicks
    -- Of a row that is new: nobody had it before.
    returning link_id, total.xmax = 0 as is_first
  )
  -- Clicks that come when their link is gone already.
  insert into dead_links select link_id from added where is_first and not exists (select from links where id = link_id)
  -- Held until this is committed, so that nobody takes the link off the list meanwhile.
  on conflict (id) do update set id = excluded.id;
end $$;

create function ql_total_clicks() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform ql_add_clicks(array_agg(link_id), array_agg(n))
    from (select link_id, sum(clicks)::bigint as n from new_rows group by 1) as sums;
  elsif tg_op = 'DELETE' then
    perform ql_add_clicks(array_agg(link_id), array_agg(-n))
    from (select link_id, sum(clicks)::bigint as n from old_rows group by 1) as sums;
  else
    perform ql_add_clicks(array_agg(link_id), array_agg(n))
    from (select link_id, sum(n)::bigint as n
          from (select link_id, clicks from new_rows union all select link_id, -clicks from old_rows) as changes (link_id, n)
          group by 1) as sums;
  end if;
  return null;
end $$;
create trigger clicks_total_insert after insert on clicks
  referencing new table as new_rows for each statement execute function ql_total_clicks();
create trigger clicks_total_update after update on clicks
  referencing old table as old_rows new table as new_rows for each statement execute function ql_total_clicks();
create trigger clicks_total_delete after delete on clicks
  referencing old table as old_rows for each statement execute function ql_total_clicks();

-- An id is never given twice, so what was counted of it is nobody's any more.
create function ql_bury_link() returns trigger language plpgsql as $$
begin
  insert into dead_links values (old.id) on conflict do nothing;
  return null;
end $$;
create trigger links_bury_deleted after delete on links
  for each row execute function ql_bury_link();
-- A tenant that creates a code again gets its row with a new id.
create trigger links_bury_replaced after update of id on links
  for each row when (old.id <> new.id) execute function ql_bury_link();
