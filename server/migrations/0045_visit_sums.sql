-- The days of a month that is over, added up, for subjects whose values are many: what a question about a year reads in place of them.
-- Read docs/decisions/0054-sums-of-months.md before changing anything here.
create table visit_sums (
  subject text collate "C" not null,
  -- A month of UTC.
  at timestamptz not null,
  ends timestamptz not null,
  -- Of those days when they were added up: where it is no longer theirs, the row says nothing.
  total bigint not null,
  referrer bytea,
  utm_source bytea,
  utm_medium bytea,
  utm_campaign bytea,
  country bytea,
  browser bytea,
  os bytea,
  device bytea,
  language bytea,
  bot bytea,
  target bytea,
  primary key (subject, at)
);
-- How far the upkeep has come in each month, by subject.
create table visit_sums_made (at timestamptz primary key, subject text collate "C" not null, is_done boolean not null);
