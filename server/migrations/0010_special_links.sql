-- Special links: those with rules, and those with a password. Read docs/decisions/0028-special-links.md before changing
-- anything here.
--
-- A server that does not know these columns reads `url` and redirects there. So it is empty where there are any, which no
-- server takes for a redirect; and a change of such a link by such a server is refused.

alter table links
  -- [{"when": {…}, "url": …}, …, {"url": where all others lead}]; null: none.
  add column rules jsonb,
  -- Where it leads, and the hash, stand in link_passwords.
  add column has_password boolean not null default false,
  -- Not valid: of the rows that there are, none has either, and reading them all would hold everybody up.
  add constraint links_special check (
    (rules is null and not has_password)
    or (url = '' and not permanent and (rules is null or not has_password))
  ) not valid;

-- In a table of its own, so that nothing which reads links has it by accident.
create table link_passwords (
  link_id bigint primary key,
  hash text not null,
  url text not null
);

-- No foreign key: it would have its own word in a truncate, and where a code that was deleted is created again.
create function ql_forget_password() returns trigger language plpgsql as $$
begin
  delete from link_passwords where link_id = old.id;
  return null;
end $$;
create trigger links_forget_password_taken_off after update on links
  for each row when (old.has_password and (not new.has_password or new.id <> old.id))
  execute function ql_forget_password();
create trigger links_forget_password_deleted after delete on links
  for each row when (old.has_password) execute function ql_forget_password();

create function ql_forget_passwords() returns trigger language plpgsql as $$
begin
  truncate link_passwords;
  return null;
end $$;
create trigger links_forget_passwords after truncate on links for each statement execute function ql_forget_passwords();
