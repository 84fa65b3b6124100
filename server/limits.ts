// Bounds that nobody needs to tune, each with its reason: every queue, retry, cache and label set of the server has its limit here, or is a
// setting (config.ts).
// Long because all of them stand here.
export const limits = {
  /** Characters of a destination: what browsers and proxies still carry in a Location header. */
  urlLength: 8192,
  /** Characters of a visitor's query that are said to the target: click ids and a token, and no work for a processor. */
  forwardedQuery: 4096,
  /** Characters of a host name (RFC 1035), and of one as it may be written: a letter of ours can be `%XX` four times. */
  hostLength: 253,
  hostWritten: 1024,
  /** Domains besides the default one, with those that were removed: each process holds the list, and a page of it is all. */
  domains: 1000,
  /** Tenants of a domain. */
  domainTenants: 1000,
  /** Milliseconds that a start waits for the list of domains: longer, only while neither Postgres nor Redis answers. */
  domainsMs: 500,
  /** Characters of an error's message and of its stack in the log: whoever causes it may have chosen a part of them. */
  loggedMessage: 1000,
  loggedStack: 4000,
  /** Characters of what a path names, in the log: a key has 32 or more. */
  loggedName: 31,
  /** Pixels of a QR code's side: enough to print on a poster (2,000 take 2 ms to draw), and as few as one can point a camera at. */
  qrSizeMin: 50,
  qrSizeMax: 2000,
  /** Modules of white around it: ten times what the standard wants. */
  qrMarginMax: 40,
  /** How much darker a QR code's modules are than its ground, as WCAG measures contrast: below it cameras begin to fail. */
  qrContrastMin: 4,
  /** QR codes that wait to be drawn, per process; and bytes of those that are remembered: some thousand. */
  qrWaiting: 100,
  qrDrawnBytes: 4_194_304,
  /** Links whose tenant is to be asked whether it shows where they lead, per process. */
  previewQueue: 1000,
  /** Bytes of a request body: the longest destination, escaped, and the other fields. */
  bodyBytes: 65_536,
  /** Rules of a link; characters of all their URLs together: a copy in tier 1 is then at most twice a plain one's. */
  rules: 10,
  rulesUrls: 8192,
  /** Names in the query of a rule, and characters of each and of its value. */
  ruleQueryNames: 10,
  ruleQueryChars: 200,
  /** Characters of what a visitor sends that rules are held against. */
  userAgent: 512,
  acceptLanguage: 256,
  visitQuery: 4096,
  /** Characters of a link's password. */
  passwordLeast: 8,
  passwordMost: 200,
  /** Passwords that wait to be hashed, per process, of visitors and of links each: with both, the last one is looked at five seconds later. */
  passwordsWaiting: 32,
  passwordsRetryS: 5,
  /** Passwords tried of a link, per address and server, and the seconds in which they count; one that is right does not. */
  guesses: 10,
  guessWindowS: 900,
  /** Links and addresses whose passwords are counted, per server. */
  guessers: 100_000,
  /** Bytes of a password's form: the longest password, each character of it escaped, four bytes as twelve. */
  formBytes: 4096,
  /** Milliseconds for the form to come whole. */
  formMs: 5000,
  /** Codes being looked up at once, per process; more is overload, answered 503. */
  flights: 10_000,
  /** Codes that wait for a Postgres batch, per process; beyond it lookups are shed with 503. */
  dbQueue: 5000,
  /** Codes in one Postgres batch: one index probe each, well inside the deadline. */
  dbBatch: 256,
  /** Connections for redirects, per process: batches make more of them useless. */
  dbRedirectConnections: 3,
  /** Connections of the API for keys, reads and writes, per process. */
  dbApiConnections: 4,
  /** Connections for who may do how much, per process: the sync of a quota may take one for a while. */
  dbLimitsConnections: 2,
  /** Connections that bring clicks to Postgres, per process: one batch at a time. */
  dbClicksConnections: 1,
  /** API requests that wait for a connection, per process. */
  dbApiQueue: 200,
  /** Rows of one import, and characters of one of them: the longest destination, twice, and the longest note. */
  importRows: 1_000_000,
  importRecord: 131_072,
  /** Columns of its table: ten times what any shortener writes. */
  importColumns: 200,
  /** Levels of lists and objects in one of its rows: three times what a link with rules has. */
  importDepth: 16,
  /** Bytes of it that are read at a time: about a millisecond, then others are served. */
  importPiece: 8192,
  /** Rows that are worked off in one transaction, and characters of them: a third of a second, and changes for a few passes. */
  importPart: 4000,
  importPartChars: 4_000_000,
  /** Imports whose file is coming, of a tenant and per process; and of a tenant that are not done yet. */
  importsComing: 1,
  importsComingHere: 4,
  importsWaiting: 3,
  /** Imports of a tenant that are remembered, and days that each is: with its refused rows it may be as large as its file. */
  importsKept: 10,
  importDays: 14,
  /** Milliseconds that the sender of a file may say nothing, and that all of it may take. */
  importIdleMs: 30_000,
  importMs: 3_600_000,
  /** Milliseconds that is read on, and thrown away, of a file that was refused, so that its sender hears why. */
  importDrainMs: 3000,
  /** Milliseconds between looks for imports to work on, and for one statement of a part. */
  importLookMs: 1000,
  importStepMs: 20_000,
  /** Milliseconds that the next part waits for a fresh pass; then it goes on without, while somebody's Redis hangs. */
  importFreshMs: 5000,
  /** Times that a part fails for a reason of ours until its import does; and milliseconds between two tries at most. */
  importTries: 5,
  importRetryMs: 5000,
  /** Times that Postgres does not finish a part within importStepMs: a quarter of an hour of nothing else. */
  importSlowTries: 50,
  /** Warnings of an import that its answer lists. */
  importWarnings: 100,
  /** Answers of the API that are asked for and not yet sent, per process and of one tenant: what nobody reads is memory. */
  apiAnswers: 256,
  apiAnswersPerTenant: 64,
  /** Bytes of them, likewise: ten times the largest page, of 100 links with the longest destinations. */
  apiAnswerBytes: 67_108_864,
  apiAnswerBytesPerTenant: 16_777_216,
  /** Links that one request may make, change or delete, and bytes of its body: a thousand links of two thousand characters. */
  bulkLinks: 1000,
  bulkBodyBytes: 2_097_152,
  /** Such requests whose bodies and answers are held at once, per process and of one tenant. */
  bulkRequests: 8,
  bulkRequestsPerTenant: 2,
  /** Of those, the ones that are worked on: others of the API have connections beside them. */
  bulkWorking: 2,
  /** Passwords that one of them may give links: each is hashed by itself, for a tenth of a second. */
  bulkPasswords: 10,
  /** Links of a request that are looked at before redirects are served in between. */
  bulkStep: 50,
  /** Times that a request is begun whose locks clash with another's. */
  bulkTries: 3,
  /** Milliseconds that an answer may take which comes bit by bit: what it reads is kept as it was for so long. */
  streamMs: 1_800_000,
  /** Exports at once, per process, and in all processes: each has a connection to Postgres of its own. */
  exports: 2,
  exportsInAll: 4,
  /** Seconds until whoever found no room for one may ask again. */
  exportRetryS: 5,
  /** Links that are read at a time: a few milliseconds of work between redirects, and of the largest that there can be 7 MB. */
  exportStep: 200,
  /** Rows of visits that are read at a time: of the largest that there can be 8 MB. */
  visitsExportStep: 50,
  /** Milliseconds for one such step. */
  exportStepMs: 30_000,
  /** Milliseconds to open a Postgres connection before trying anew. */
  dbConnectMs: 500,
  /** The same at the start, when nobody waits for a redirect yet. */
  bootConnectMs: 5000,
  /** Milliseconds between look-ups of a link that tier 1 could answer by itself: Redis keeps what is asked for. */
  askEveryMs: 1000,
  /** By then it is looked up at its next visit; by chance before, so that many are not looked up together. */
  askMostMs: 32_000,
  /** Of a Redis Cluster, milliseconds: until it is seen that its map is due; between maps; while a part of it cannot be asked; for one. */
  clusterTickMs: 50,
  clusterLookMs: 5000,
  clusterSoonMs: 250,
  clusterMapMs: 500,
  /** Codes in one look into Redis. */
  redisBatch: 128,
  /** Looks into Redis under way at once, per process. */
  redisInFlight: 64,
  /** Codes that wait for a look into Redis, per process. */
  redisQueue: 10_000,
  /** Cache fills under way at once, per process; a fill beyond it is dropped, the next reader fills. */
  fillsInFlight: 16,
  /** Changes that a pass looks up and writes at a time: bounds how long one script holds Redis. */
  passChunk: 500,
  /** When there are more: codes that it makes Redis forget at a time, for about as long. */
  passBulk: 1500,
  /** Milliseconds between two such parts, for the redirects that share the processors. */
  passPaceMs: 4,
  /** Milliseconds that a pass leaves such a list to the process that is faster, before it looks again. */
  passYieldMs: 100,
  /** Times that a pass finds its cursor moved, or gone, before it leaves the rest to the next one. */
  passLost: 8,
  /** Milliseconds between two heartbeats for standbys. */
  beatMs: 200,
  /** Codes of which is remembered since when they have changed, per process with a standby. */
  newsMost: 10_000,
  /** Milliseconds for one step of a pass. */
  passStepMs: 400,
  /** Milliseconds between passes that nudges start: at most this often, however much is written. */
  nudgeGapMs: 20,
  /** Seconds after which a pass moves the cursor although nothing changed. */
  cursorIdleS: 10,
  /** Seconds that a tombstone lives in Redis. */
  tombstoneS: 600,
  /** Hours that the outbox is kept: a Redis whose cursor is older is emptied instead of brought up to date. */
  outboxHours: 48,
  /** Days until an expired or deleted code is free again. */
  purgeAfterDays: 30,
  /** Characters of a key: longer ones are not hashed, no key of ours, supplied ones included, is that long. */
  keyLength: 512,
  /** Hours that a session lives after its last use, and days at most; hours of one that has come from an identity provider. */
  sessionIdleHours: 8,
  sessionDays: 7,
  sessionOidcHours: 24,
  /** Sessions of a key or a member that live at once: the oldest go. Sign-ins of one in a minute, per process. */
  sessionsPerAccount: 50,
  signInsPerMinute: 120,
  /** Days that an invitation is good for; minutes of the link that signs the owner in. */
  invitationDays: 7,
  signInLinkMinutes: 5,
  /** Milliseconds of one answer of an identity provider, and bytes of it; hours that what it says of itself is kept. */
  oidcMs: 5000,
  oidcBytes: 262_144,
  oidcMetadataHours: 1,
  /** Sign-ins that are asked of it at once, per process. */
  oidcUnderWay: 32,
  /** Minutes for the way there and back, with what is typed there; characters of where it ends. */
  oidcMinutes: 10,
  returnTo: 1024,
  /** Characters of a person's number there (the standard's bound), and of a name; groups of a log line, and characters of each. */
  oidcSubject: 255,
  memberName: 200,
  oidcLoggedGroups: 20,
  oidcLoggedGroup: 64,
  /** Members of a tenant: a list has all of them. Changes of them in a minute, per process: each is an entry of the audit log. */
  membersPerTenant: 1000,
  memberChangesPerMinute: 60,
  /** Characters of a link's token, with room: a longer one is none of ours. */
  tokenLength: 100,
  /** Days that an entry of the audit log is kept, and the address in it; characters of what a field was and is. */
  auditDays: 400,
  auditAddressDays: 30,
  auditChars: 2048,
  /** Entries that are read at a time for an answer of lines. */
  auditPage: 500,
  /** Milliseconds between looks for a console that was not built at the start. */
  consoleLookMs: 1000,
  /** Hours that an Idempotency-Key is remembered. */
  idempotencyHours: 24,
  /** Links in one page of a list. */
  pageMax: 100,
  /** Characters of a link's title, of its note, and of a tag: lines that fit a page of a list, and a paragraph. */
  titleChars: 200,
  noteChars: 2000,
  tagChars: 50,
  /** Tags of a link, and of a tenant: a person has to find one among them. */
  tagsPerLink: 20,
  tagsPerTenant: 1000,
  /** Links that are taken off a tag in one step, and milliseconds for all steps of one request. */
  tagStep: 1000,
  tagMoveMs: 10_000,
  /** Milliseconds until it is added up again how many links each tag has: a list of tags reads what came since. */
  tagSumEveryMs: 10_000,
  /** Milliseconds for one search of links; searches at once, and tenants that wait for one, per process. */
  searchMs: 300,
  searches: 2,
  searchQueue: 50,
  /** Characters of a URL that are searched. */
  searchedChars: 500,
  /** How far counter and ids jump after a restore, past codes that were handed out and forgotten. */
  counterRestoreMargin: 1_000_000,
  /** Milliseconds between notes of how far the database has come; what is made meanwhile is well within that margin. */
  highWaterEveryMs: 1000,
  /** Counters tried for one new code before giving up: each collision needs a custom code that guessed a generated one. */
  mintAttempts: 100,
  /** Codes that the sampled checker compares per second and process. */
  checksPerSecond: 2,
  /** Links in one batch of clicks, per process; clicks of a further link are dropped. */
  clickLinks: 100_000,
  /** Milliseconds between batches of clicks: what a process that is killed takes with it. */
  clicksEveryMs: 1000,
  /** Visits of one link that are looked at per batch and copy of it: a link in everybody's hands leaves room for the others. */
  visitsPerLink: 200,
  /** Bytes that a visit leaves until it is looked at, at most. */
  visitBytes: 512,
  /** User agents, and languages that visitors ask for, whose meaning is remembered, per process: so many of each. */
  visitAgents: 2000,
  /** Milliseconds that visits are looked at before requests have their turn, and altogether per batch. */
  visitsSliceMs: 1,
  visitsBusyMs: 150,
  /** Values of a link's dimension that are told by name when they come first, per hour and process; later ones must come twice. */
  visitValuesNamed: 100,
  /** Links' dimensions for which that is known, and values of which it is known that they came, per process: 1 MB. */
  visitDimensions: 20_000,
  visitValuesRemembered: 262_139,
  /** Percent of SPOOL_MAX_MB from which on the oldest breakdowns are given up, so that new ones find room. */
  spoolOldBreakdowns: 70,
  /** Percent of it up to which new breakdowns are written, and people: beyond it there is room for clicks alone. */
  spoolBreakdowns: 75,
  spoolPeople: 90,
  /** Bytes of what a line of the spool says of visits: without breakdowns, if it were more. Lines are read 8 MB at a time. */
  visitsLineBytes: 3_000_000,
  /** Milliseconds between looks for the salts of visitors, and between tries while they are not known. */
  saltsEveryMs: 600_000,
  saltsRetryMs: 5000,
  /** Milliseconds between looks whether GEOIP_FILE has changed, and its bytes at most: each process holds it. */
  geoipLookMs: 60_000,
  geoipBytes: 268_435_456,
  /** Milliseconds of a clean stop for bringing clicks to Postgres; what is left waits in the spool. */
  clicksStopMs: 2000,
  /** Milliseconds between looks for spools whose process has died. */
  takeOverEveryMs: 5000,
  /** Days that a spool is remembered after its last batch: no statement is under way for longer. */
  spoolDays: 7,
  /** Links whose popularity is told to Redis, per process and round; the length of a round; the clicks that count. */
  popularLinks: 100,
  popularEveryMs: 10_000,
  popularClicks: 10,
  /** Links that a process puts back into a Redis that came back empty. */
  warmLinks: 200,
  /** Links with a hit limit that a process holds hits of; beyond it the oldest go back. */
  hitLeases: 50_000,
  /** Requests that wait for hits of one link, per process; and how long, in milliseconds, while there are some. */
  hitWaiters: 5000,
  hitWaitMs: 1000,
  /** Milliseconds after which hits that nobody wants go back, and between looks for them. */
  hitIdleMs: 10_000,
  hitLookMs: 2500,
  /** Milliseconds of a clean stop for giving hits back. */
  hitStopMs: 1500,
  /** Milliseconds between looks at the database's clock, which months are of. */
  clockEveryMs: 5000,
  /** Days after which a day's clicks are told in one, and months after which a month's are. */
  clickHoursDays: 90,
  clickDaysMonths: 24,
  /** Milliseconds that pass after visits of so many values (some 800 visits) were sent, less after fewer: their rows are written once for what comes meanwhile. */
  visitsRestMs: 4000,
  visitsRestCells: 5000,
  /** Values of a dimension in a row of visits, of a link, a tag or a tenant in an hour, a day or a month: those that came most often. */
  visitValues: 500,
  /** The same in the sum of a month's days; bytes of those days from which on they are added up; and rows that are looked at for it at once. */
  visitSumValues: 2000,
  visitSumBytes: 50_000,
  visitSumRows: 200,
  /** Rows of visits that are locked, read and written in one statement: a few milliseconds of this process. */
  visitRows: 250,
  /** Days that visits may come late, from a spool, and early, by a clock that is wrong: others have no row to go into. */
  visitsLateDays: 14,
  visitsAheadDays: 2,
  /** Days for which partitions of visits are made ahead; milliseconds that the upkeep waits for a lock that holds up who writes visits. */
  visitPartitionsDays: 28,
  visitLockMs: 500,
  /** Values that an answer about visits has, and that are added up for it: the others are told in one number. */
  statsTop: 100,
  statsValues: 20_000,
  /** Rows of visits that are read at once for it, so that redirects get their turn in between. */
  statsRows: 100,
  /** Answers about visits that are being worked out at once, per process: half of the API's connections. One of a tenant, and as many wait as a page asks for. */
  stats: 2,
  statsWaiting: 200,
  statsWaitingOfTenant: 32,
  /** Months that grants of hits are kept. */
  hitsMonths: 3,
  /** Milliseconds that an idle connection is kept: longer than the proxies in front keep theirs (60 s). */
  keepAliveMs: 65_000,
  /** Milliseconds for a request's headers, and for all of it: slow senders do not hold connections. */
  headersMs: 10_000,
  requestMs: 15_000,
  /** Milliseconds between two looks at who is past these. */
  lateCheckMs: 1000,
  /** Milliseconds that a client may take nothing of its answer while the API has no room for more of them. */
  crowdedMs: 5000,
  /** Connections to the public port, per process: each is a file descriptor and a few kB; two processes fit into 32,768. */
  connections: 16_384,
  /** Of those, of one address (IPv6: /64): an eighth, enough for a company behind one address. */
  connectionsPerAddress: 2048,
  /** Connections that wait to be accepted: everybody comes back at once after a restart. The kernel's own bound is below. */
  backlog: 4096,
  /** Bytes of answers that are kept for a client that does not read; node:http uses the same to pause. */
  unreadBytes: 65_536,
  /** Milliseconds that a stop leaves a connection that was just used, for a request that may be on its way. */
  lingerMs: 250,
  /** Milliseconds that requests in flight get at a stop: with what hits and clicks get, less than stopMs. */
  drainMs: 4000,
  /** Seconds of a rate limit's window: limits are per hour. */
  createWindowS: 3600,
  /** Milliseconds that a worker waits for the primary process to count; then it counts for itself, which a machine that is merely busy is no reason for. */
  primaryMs: 1000,
  /** Milliseconds that a worker waits for the primary process to say how the server is: longer than a scrape may take. */
  systemMs: 2000,
  /** Characters of X-Forwarded-For that are read, from its end: some twenty hops. */
  forwardedFor: 1024,
  /** Milliseconds between a worker's reports of 404s to the primary process: what other workers may not know yet. */
  absencesEveryMs: 100,
  /** 404s of one address that are reported at once, where that is more than a hundredth of its limit. */
  absencesAtOnce: 10,
  /** API keys that are not known and turn out wrong, per minute, address and process; further ones are 429 without a look-up. */
  keyAttempts: 30,
  /** Addresses whose wrong keys are counted, per process. */
  keyAddresses: 10_000,
  /** API keys that worked lately, per process: they are looked up whoever else tries what from their address. */
  keysKnown: 1000,
  /** API keys that were refused within the last second, per process: they are not looked up again. */
  keysRefused: 1000,
  /** Milliseconds between two log lines of a kind that a stranger can cause at will. */
  strangersLineMs: 1000,
  /** Milliseconds between two log lines of the same lasting trouble: an hour's outage is not 3,600 lines. */
  troubleLineMs: 60_000,
  /** Addresses whose 404s are counted, per process. */
  scanAddresses: 10_000,
  /** Tenants in the answer of a sync of all: beyond it they are synced, but not listed. */
  syncsListed: 10_000,
  /** Milliseconds between looks whether the nightly sync of quotas is due. */
  nightlyEveryMs: 600_000,
  /** Keys of a tenant, with those that ended or were revoked until they are purged: a list has all of them. */
  keysPerTenant: 1000,
  /** Milliseconds between estimates of how many absences Redis holds. */
  hintCountEveryMs: 15_000,
  /** Milliseconds between removals of what is old: links long dead, the outbox, idempotency keys. */
  upkeepEveryMs: 3_600_000,
  /** Milliseconds after the start until the first: the database has been reached, and those who waited are served. */
  upkeepFirstMs: 2000,
  /** Milliseconds for one step of it, and for all steps of one task: the rest waits for the next time. */
  upkeepMs: 10_000,
  upkeepTaskMs: 600_000,
  /** Milliseconds between rounds that tell lists how often links were clicked, and for one round; totals in a step of it. */
  orderEveryMs: 60_000,
  orderMs: 1000,
  orderStep: 1000,
  /** Milliseconds to build an index beside the work: tens of millions of rows. */
  indexMs: 3_600_000,
  /** Milliseconds for a clean stop; orchestrators kill after 10 s. */
  stopMs: 8000,
  /** Milliseconds between two signs of life of a worker, and between the looks of the primary process for them. */
  aliveEveryMs: 250,
  /** Milliseconds of silence after which the primary process accepts in place of a worker: longer than any honest stall. */
  silentMs: 1000,
  /** Milliseconds of silence after which a worker does not count as serving: half a sick machine is no reason to leave it. */
  unheardMs: 3000,
  /** Milliseconds of silence after which a worker is killed; and until its first word, when it has to be loaded first. */
  hungMs: 10_000,
  loadMs: 60_000,
  /** Bytes of log lines that wait for somebody to take them, per process: some thousand; those beyond are dropped. */
  logQueueBytes: 1_048_576,
  /** Milliseconds until a reader of the log who was too slow is tried again. */
  logRetryMs: 20,
  /** Milliseconds that the end of a process may take for its last lines. */
  logFlushMs: 500,
  /** Milliseconds between looks whether LOG_FILE has been renamed. */
  logLookMs: 1000,
} as const
