-- How far a standby is: a row that servers with DATABASE_READ_URL write on the primary five times a second. Whoever reads it on a
-- standby knows that all that its snapshot saw is there, too: it stood in the log before the row did.
-- Read docs/decisions/0051-standby.md.
create table ql_beat (
  only_row boolean primary key default true check (only_row),
  n bigint not null default 0,
  at timestamptz not null default clock_timestamp(),
  -- As a pass on the primary would have found them. Null while a trigger of links is switched off.
  identity text,
  version bigint,
  snapshot pg_snapshot
);
insert into ql_beat default values;
