-- What visitors of a UTC day are made unrecognisable with. Read server/visits/salts.ts before changing anything here.

-- One for all processes. It is no part of a dump: with it, whoever knows an address could ask whether it was here.
create table visit_salts (
  day date primary key,
  salt bytea not null
);
