-- What has been granted of a link's hits, and which batches of clicks have arrived.
-- Read docs/decisions/0007-hit-quota.md and 0008-click-spool.md before changing anything here.

-- The one clock of months: in UTC, and of the database. A function, so that a test can be at the end of a month.
create function ql_now() returns timestamptz language sql volatile as 'select clock_timestamp()';

create table hits (
  link_id bigint not null,
  month date not null,
  -- Never spent before it is committed here; never more than the limit, but for what was served while nobody could grant.
  granted bigint not null,
  -- The limit, the size and the time of the last grant.
  most integer,
  last_grant integer not null default 0,
  granted_at timestamptz not null default clock_timestamp(),
  -- Served while nobody could grant, and part of `granted` since.
  ungranted bigint not null default 0,
  primary key (link_id, month)
);

-- A spool's batches arrive in order: the highest number says which are in `clicks`.
create table click_spools (
  id uuid primary key,
  last_batch bigint not null,
  clicks bigint not null,
  at timestamptz not null default clock_timestamp(),
  -- Its files are gone: nothing will arrive any more.
  closed_at timestamptz
);
create index click_spools_closed on click_spools (closed_at) where closed_at is not null;
