-- Words that are reserved from now on: names of pages, and what the API has paths of beside those of links. Whoever has one keeps it. Looked
-- for here, and not where 0009 changes the table: all of it is read, and whoever needs a link would wait meanwhile.
do $$
declare kept text;
begin
  select string_agg(code, ', ' order by code) into kept from links
  where deleted_at is null and lower(split_part(code, '/', case when strpos(code, '/') = 0 then 1 else 2 end)) in
    ('account', 'auth', 'console', 'invite', 'oidc', 'session', 'signin', 'signout', 'signup', 'bulk', 'export');
  if kept is not null then
    raise warning 'these codes are reserved words from now on, and the links that have them keep them: %', kept;
  end if;
end $$;
