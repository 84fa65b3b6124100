-- A tenant never has more links than this, so a create need not count them while that leaves room. Null: nobody has counted yet.
-- Every link that is added raises it, whoever adds it; what is deleted does not lower it. A count that has become
-- necessary, and each sync, set it to what there is.
alter table tenants add column links_at_most bigint;

create function raise_links_at_most(whose text, more bigint) returns void language plpgsql as $$
begin
  -- There is nothing to raise, and nobody counts until this transaction has ended.
  perform from tenants where id = whose and links_at_most is null for share;
  if found then return; end if;
  update tenants set links_at_most = links_at_most + more where id = whose and links_at_most is not null;
end $$;

create function links_added() returns trigger language plpgsql as $$
begin
  perform raise_links_at_most(tenant, count(*)) from added where deleted_at is null group by tenant order by tenant;
  return null;
end $$;
create trigger links_added after insert on links referencing new table as added
  for each statement execute function links_added();

create function link_came_back() returns trigger language plpgsql as $$
begin
  perform raise_links_at_most(new.tenant, 1);
  return null;
end $$;
create trigger link_came_back after update on links for each row
  when (new.deleted_at is null and (old.deleted_at is not null or old.tenant <> new.tenant))
  execute function link_came_back();
