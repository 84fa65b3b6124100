-- A tenant's links are counted by generation: which sync of its quota was the last. Read server/quotas/tenant-quota.ts before
-- changing anything here.

alter table tenants add column quota_generation uuid;

-- What did this before. Servers of the version before, while they are replaced, go on writing there, and nobody keeps it. Their
-- syncs, which would read it, fail: so they believe no number in Redis, and leave every create to Postgres, which counts exactly.
drop table quota_ops;
create function ql_quota_ops_are_gone() returns table (id text, tenant text, at timestamptz) language plpgsql as $$
begin
  raise exception 'quotas are synced by generation: this server is to be replaced';
end $$;
create view quota_ops as select * from ql_quota_ops_are_gone();
create function ql_keep_nothing() returns trigger language plpgsql as 'begin return null; end';
create trigger quota_ops_keep_nothing instead of insert on quota_ops for each row execute function ql_keep_nothing();
create rule quota_ops_have_nothing as on delete to quota_ops do instead nothing;
