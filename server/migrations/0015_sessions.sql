-- Sign-ins of browsers. Read server/sessions/store.ts before changing anything here.

-- The token is in the browser's cookie only; what stands here is its SHA-256. A session may do what its key may: it ends with it.
create table sessions (
  id text primary key,
  token_hash bytea not null unique,
  key_id text not null references api_keys (id) on delete cascade,
  created_at timestamptz not null default now(),
  -- Up to a minute old: not every request writes.
  used_at timestamptz not null default now(),
  ends_at timestamptz not null
);
create index sessions_by_key on sessions (key_id, created_at desc);
create index sessions_to_remove on sessions (ends_at);
