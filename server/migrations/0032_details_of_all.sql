-- Details of links that were there before there were details (0008). Nobody waits for this but who changes one of these links meanwhile; what is
-- there already is left as it is.
insert into link_details (link_id, tenant, created_at, updated_at, clicks)
  select id, tenant, created_at, updated_at, coalesce(total.clicks, 0)
  from links left join click_totals as total on total.link_id = links.id
  where deleted_at is null and not exists (select from link_details where link_id = links.id)
  on conflict (link_id) do nothing;
