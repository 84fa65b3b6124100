-- How far the nightly sync of quotas has come: which night, and the last tenant of it. A tenant is a transaction of its own, so
-- whoever goes on after a crash begins there. A server of the version before looks at synced_at only, as before.
alter table quota_nights
  add column night timestamptz,
  add column reached text not null default '';
