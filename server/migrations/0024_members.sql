-- People of a tenant, and links that sign in once. Read docs/decisions/0038-members-and-sign-in.md before changing anything here.

create table members (
  id text primary key,
  tenant text not null references tenants on delete cascade,
  name text not null,
  -- `owner` only by an identity provider.
  role text not null check (role in ('viewer', 'editor', 'admin', 'owner')),
  -- Who it is for an identity provider; both null: who came by an invitation.
  issuer text,
  subject text,
  created_at timestamptz not null default now(),
  signed_in_at timestamptz,
  unique (issuer, subject),
  check ((issuer is null) = (subject is null))
);
create index members_by_tenant on members (tenant, created_at desc, id);

-- The token is in the link only; what stands here is its SHA-256. Who signs in by it deletes the row. One of each account.
create table sign_in_links (
  token_hash bytea primary key,
  key_id text unique references api_keys on delete cascade,
  member_id text unique references members on delete cascade,
  ends_at timestamptz not null,
  check ((key_id is null) <> (member_id is null))
);
create index sign_in_links_to_remove on sign_in_links (ends_at);

-- A session is of a key or of a member, and ends with it. Servers of the version before do not find a member's.
alter table sessions alter column key_id drop not null;
alter table sessions add column member_id text references members on delete cascade;
alter table sessions add check ((key_id is null) <> (member_id is null));
create index sessions_by_member on sessions (member_id, created_at desc);
