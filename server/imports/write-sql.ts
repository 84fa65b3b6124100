// How the rows of a part are read, and how links are made and replaced of them: as many as there are in one statement.

/** The names are those of StagedRow (row.ts). */
const columns = {
  place: 'integer', line: 'integer', source: 'text[]', refused: 'text', warnings: 'text[]', code: 'text', host: 'text', url: 'text',
  rules: 'jsonb', has_password: 'boolean', permanent: 'boolean', enabled: 'boolean', starts_at: 'timestamptz',
  expires_at: 'timestamptz', expired_url: 'text', forward_query: 'boolean', monthly_hits: 'integer', created_at: 'timestamptz',
  created_by: 'text', title: 'text', note: 'text', tags: 'text[]', tag_keys: 'text[]', clicks: 'bigint',
} // prettier-ignore

type Column = keyof typeof columns

/** Rows `r` of a part `p`, which is to be named. Each column takes its time, and all are read anew whenever this is asked. */
const rowsWith = (...names: readonly Column[]): string =>
  `import_parts as p cross join json_to_recordset(p.rows) as r (${names.map((name) => `${name} ${columns[name]}`).join(', ')})`
export const rowsIn = rowsWith(...(Object.keys(columns) as Column[]))
/** What is decided by. */
export const saidIn = rowsWith(
  'line',
  'place',
  'code',
  'host',
  'refused',
  'has_password',
  'tags',
  'tag_keys',
  'warnings',
)

/** Nobody knows a password of it: not even by chance is it what scrypt makes of one. */
const noHash = 'none'
/** Until somebody says where it leads: a name that never leads anywhere (RFC 2606). */
const nowhere = 'https://unknown.invalid/'

/** Where a link leads, as it stands in `links`: nothing, where that stands elsewhere. */
const lead = `case when r.rules is not null or r.has_password then '' else r.url end as url, r.rules,
  coalesce(r.has_password, false) as has_password, coalesce(r.permanent, false) as permanent`
/** The same where there is a link `l`, whose password stays whatever the file says or does not say of one. */
const leadKept = `case when r.rules is not null or r.has_password or l.has_password then '' else r.url end as url,
  case when not l.has_password then r.rules end as rules, coalesce(r.has_password, false) or l.has_password as has_password,
  coalesce(r.permanent, false) and not l.has_password as permanent`
const rest = `r.starts_at, r.expires_at, r.expired_url, coalesce(r.forward_query, false) as forward_query, r.monthly_hits`

const core = ['url', 'rules', 'has_password', 'permanent', 'enabled', 'starts_at', 'expires_at', 'expired_url', 'forward_query', 'monthly_hits'] // prettier-ignore
const made = [...core, 'tenant', 'code', 'counter', 'salt_generation', 'created_at', 'deleted_at', 'id']
const tagged = `insert into link_tags (tag_id, link_id, created_at)
    select tags.id, becomes.id, becomes.created_at
    from becomes join chosen on chosen.code = becomes.code cross join unnest(chosen.tag_keys) as wanted (tag)
      join tags on tags.tenant = $4 and tags.key = wanted.tag
    on conflict do nothing`

/**
 * $1, $2: the part; $3: places; $4: the tenant; $5, $6: codes that were minted, with their counters, in the order of the places, or
 * null; $7: the generation of their salt. What the tenant has deleted it may have again, with a new id. Answers how many were made.
 */
export const createSql = `
with chosen as materialized (
  select r.place, r.line, coalesce(r.code, m.code) as code, m.counter, r.url as target, ${lead}, ${rest},
    coalesce(r.enabled, true) and not coalesce(r.has_password, false) as enabled,
    coalesce(r.created_at, now()) as created_at, r.created_by, r.title, r.note, r.tag_keys, coalesce(r.clicks, 0) as clicks
  from ${rowsIn} join unnest($3::integer[], $5::text[], $6::bigint[]) as m (place, code, counter) on m.place = r.place
  where p.import_id = $1 and p.n = $2
), becomes as (
  insert into links (${made.join(', ')})
  select ${core.join(', ')}, $4, code, counter, case when counter is not null then $7::integer end, created_at, null,
    nextval('link_id_seq') from (select * from chosen order by code) as chosen
  on conflict (code) do update set ${made.map((column) => `${column} = excluded.${column}`).join(', ')}
    where links.tenant = excluded.tenant and links.deleted_at is not null
  returning id, code, tenant, created_at, updated_at
), detailed as (
  insert into link_details (link_id, tenant, created_at, updated_at, created_by, title, note, clicks, clicks_before)
  select becomes.id, becomes.tenant, becomes.created_at, becomes.updated_at, chosen.created_by, chosen.title, chosen.note,
    chosen.clicks, chosen.clicks
  from becomes join chosen on chosen.code = becomes.code
), tagged as (
  ${tagged}
), guarded as (
  insert into link_passwords (link_id, hash, url)
  select becomes.id, '${noHash}', coalesce(chosen.target, '${nowhere}')
  from becomes join chosen on chosen.code = becomes.code where chosen.has_password
)
select count(*) as n from becomes`

/**
 * $1, $2: the part; $3: places; $4: the tenant. A link keeps its id, its dates, what was counted of it, and a password of its own. What
 * is as it was draws no version, so that a file which is imported again makes no noise.
 */
export const replaceSql = `
with chosen as materialized (
  select r.place, l.id, l.created_at, r.code, r.url as target, ${leadKept}, ${rest}, l.has_password as keeps,
    coalesce(r.enabled, true) and (l.has_password or not coalesce(r.has_password, false)) as enabled, r.title, r.note, r.tag_keys
  from ${rowsIn} join links as l on l.code = r.code and l.tenant = $4 and l.deleted_at is null
  where p.import_id = $1 and p.n = $2 and r.place = any ($3)
), changed as (
  update links set ${core.map((column) => `${column} = chosen.${column}`).join(', ')} from chosen
  where links.id = chosen.id and (${core.map((column) => `links.${column}`).join(', ')})
    is distinct from (${core.map((column) => `chosen.${column}`).join(', ')})
), becomes as (
  select id, code, created_at from chosen
), detailed as (
  update link_details set title = chosen.title, note = chosen.note, revision = revision + 1, updated_at = now() from chosen
  where link_id = chosen.id
), untagged as (
  delete from link_tags using chosen where link_tags.link_id = chosen.id and not exists (
    select from tags where tags.id = link_tags.tag_id and tags.tenant = $4 and tags.key = any (coalesce(chosen.tag_keys, '{}'))
  )
), tagged as (
  ${tagged}
), guarded as (
  insert into link_passwords (link_id, hash, url)
  select id, '${noHash}', coalesce(target, '${nowhere}') from chosen where has_password and not keeps
  on conflict (link_id) do nothing
)
update link_passwords set url = chosen.target from chosen
where link_passwords.link_id = chosen.id and chosen.has_password and chosen.keeps and chosen.target is not null`
