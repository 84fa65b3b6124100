-- What a key may do. Read server/tenants/keys.ts before changing anything here.

-- null: as all keys of its tenant before there were roles, so editor, and owner for the owner's.
alter table api_keys add column role text check (role in ('viewer', 'editor', 'admin'));
