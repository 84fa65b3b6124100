// The types of the API, made from its description by npm run -s client. Long because all of it is here.

export interface paths {
  '/audit': {
    /**
     * Who did what
     * @description The newest first, for 400 days. An admin sees what was done in its tenant, the owner everything. With `Accept: application/x-ndjson` the answer is all that fits, an entry on each line, without pages; `limit` and `cursor` do not go with it.
     *
     *     Needs the role `admin`.
     */
    get: operations['listAudit']
  }
  '/cache/{code}': {
    /**
     * What each cache holds of a code
     * @description Needs the role `owner`.
     */
    get: operations['readCache']
  }
  '/cache/invalidate': {
    /**
     * Make every cache ask anew for a code
     * @description Needs the role `owner`.
     */
    post: operations['invalidateCache']
  }
  '/domains': {
    /**
     * List domains
     * @description By their hosts, without the default one.
     *
     *     Needs the role `owner`.
     */
    get: operations['listDomains']
    /**
     * Make a domain
     * @description Its links are its own: the same code may lead elsewhere on another domain. When this is answered, every server knows of it, which takes most of a second. A host that no domain has is answered with the links of the default domain.
     *
     *     Needs the role `owner`.
     */
    post: operations['createDomain']
  }
  '/domains/{host}': {
    /**
     * Read a domain
     * @description Needs the role `owner`.
     */
    get: operations['readDomain']
    /**
     * Remove a domain
     * @description It must not have a link: delete them first. Within a second its host is answered 404, and never with links of the default domain; it may be made again.
     *
     *     Needs the role `owner`.
     */
    delete: operations['deleteDomain']
    /**
     * Change a domain
     * @description A merge patch: what it names is changed, the rest stays; `tenants` is replaced as a whole. A host stays as it is.
     *
     *     Needs the role `owner`.
     */
    patch: operations['changeDomain']
  }
  '/imports': {
    /**
     * List imports
     * @description Newest first. Of each tenant 10 that have ended are remembered, for 14 days.
     *
     *     Needs the role `viewer`.
     */
    get: operations['listImports']
    /**
     * Import links
     * @description The body is a file: CSV, NDJSON or JSON of QuickLink, Shlink, YOURLS, Kutt, Bitly or Dub, or a mysqldump of `yourls_url`, of up to 1,000,000 rows. It is answered when all of it is kept, and worked off after that: `GET /imports/{id}` tells how far. Codes, dates, titles, notes, tags and clicks are taken over; the links count in the quota of the tenant, and not as creates. A row that cannot be a link is refused with its reason, and the others go on. `text/csv`, `application/x-ndjson`, `application/json`, `application/sql` and `text/plain` are taken, too. Which columns are read, and what does not move, is in docs/MIGRATE.md.
     *
     *     Needs the role `editor`.
     */
    post: operations['createImport']
  }
  '/imports/{id}': {
    /**
     * Read an import
     * @description How far it has come, and what it has found.
     *
     *     Needs the role `viewer`.
     */
    get: operations['readImport']
    /**
     * End and forget an import
     * @description What it has made stays; the rest of its file is not worked off, and its refused rows are gone.
     *
     *     Needs the role `editor`.
     */
    delete: operations['deleteImport']
  }
  '/imports/{id}/refused': {
    /**
     * Read the rows that were refused
     * @description A CSV with `line` and `reason` first, then the columns of the file, and `newCode`: whoever writes codes there, or mends the rest, can import it again.
     *
     *     Needs the role `viewer`.
     */
    get: operations['readRefused']
  }
  '/invitation': {
    /**
     * Whom a link signs in
     * @description It is good for a sign-in afterwards, too. A POST, so that the token stands in no address and no log.
     *
     *     Needs no key.
     */
    post: operations['readInvitation']
  }
  '/limits': {
    /**
     * What is used of your limits
     * @description Needs the role `viewer`.
     */
    get: operations['readLimits']
  }
  '/links': {
    /**
     * List links
     * @description A tenant sees its own; the owner everybody's, or those of one `tenant`. All filters that are given hold. One of them goes with the sorts `newest` and `oldest` however many links there are (`url` within one `tenant`), and so do `createdAfter` and `createdBefore`; the other sorts go without a filter. Whatever else is asked is answered within a short time or refused with 503, one request of a tenant at a time.
     *
     *     Needs the role `viewer`.
     */
    get: operations['listLinks']
    /**
     * Make a link
     * @description Without `code` it gets one of seven letters and digits. What is not said is as the tier of the tenant has it. A tenant may have a code again that it has deleted, or whose link has expired without an `expiredUrl`; to others it is taken until it is purged, 30 days later. With an `Idempotency-Key` the request may be repeated: for 24 hours it gets the same answer, and makes no second link.
     *
     *     Needs the role `editor`.
     */
    post: operations['createLink']
  }
  '/links/{code}': {
    /**
     * Read a link
     * @description Needs the role `viewer`.
     */
    get: operations['readLink']
    /**
     * Delete a link
     * @description Within a second every visitor is answered 404.
     *
     *     Needs the role `editor`.
     */
    delete: operations['deleteLink']
    /**
     * Change a link
     * @description A merge patch: what it names is changed, the rest stays. `null` for `expiresAt` or `monthlyHits` means as the tier of the link's tenant has it; for `startsAt`, `expiredUrl`, `title` or `note`, none. `tags` are all that it has then. Every visitor sees the change within a second.
     *
     *     Needs the role `editor`.
     */
    patch: operations['changeLink']
  }
  '/links/{code}/clicks': {
    /**
     * How often a link was followed
     * @description Clicks over time; a bucket without clicks is left out. What is older than 90 days is kept by the day, what is older than two years by the month, each at its first hour.
     *
     *     Needs the role `viewer`.
     */
    get: operations['readClicks']
  }
  '/links/{code}/hits': {
    /**
     * What is used of a link's month
     * @description A limit is never exceeded, whatever fails; a link may end a little short of it.
     *
     *     Needs the role `viewer`.
     */
    get: operations['readHits']
  }
  '/links/{code}/stats': {
    /**
     * Who followed a link
     * @description `top`, `other`, `unknown` and `withheld` add up to `total`. One dimension at a time: what is kept cannot say how many visits have two values at once. Hours are kept for 90 days, days for two years, months for ever, unless the operator has set other times; before that, a day or a month stands at its beginning. With `Accept: text/csv` the answer is a table for spreadsheets.
     *
     *     Needs the role `viewer`.
     */
    get: operations['readLinkStats']
  }
  '/links/bulk': {
    /**
     * Make many links
     * @description Up to 1000, as so many calls of `POST /links` one after the other, in one transaction. Each has its own result, in the order given, and what is refused does not refuse the others. Of creates per hour and places of the tenant each takes what it would take alone; where the room ends, the rest is refused. At most 10 may have a password. With an `Idempotency-Key` the request may be repeated as a whole: if it has made a link, it gets the same answer for 24 hours.
     *
     *     Needs the role `editor`.
     */
    post: operations['createLinks']
    /**
     * Delete many links
     * @description Up to 1000, each named by its code or all that fit a filter. One transaction, one of the changes per hour; each link has its own result. Who deletes by a filter asks again until `nextCursor` is null.
     *
     *     Needs the role `editor`.
     */
    delete: operations['deleteLinks']
    /**
     * Change many links
     * @description The same change of up to 1000 links, each named by its code or all that fit a filter, the newest first. It means for each what `PATCH /links/{code}` would, and `addTags` and `removeTags` besides. One transaction, one of the changes per hour; each link has its own result. Who changes by a filter goes on with `nextCursor` until it is null; a link that is changed by somebody else in that moment is answered 412.
     *
     *     Needs the role `editor`.
     */
    patch: operations['changeLinks']
  }
  '/links/export': {
    /**
     * Export links
     * @description All that fit, the oldest first, as they were at one moment, as fast as you read them. Filters go together as you like. A tenant has one export at a time. Of a link with a password neither that nor where it leads is told. **CSV**: tags have a `|` between them, rules are JSON, nothing is an empty cell; a cell that would begin with one of `= + - @`, a tab, a line's end or `'` has a `'` before it, so that no spreadsheet takes it for a formula: take one off where a cell begins with one. An export that breaks off ends its connection without an end of the answer, which clients report as an error.
     *
     *     Needs the role `viewer`.
     */
    get: operations['exportLinks']
  }
  '/members': {
    /**
     * List members
     * @description The newest first, of one's own tenant unless the owner names another one.
     *
     *     Needs the role `admin`.
     */
    get: operations['listMembers']
    /**
     * Invite a member
     * @description The link in the answer signs it in, once, within 7 days. A tenant has at most 1000 members.
     *
     *     Needs the role `admin`.
     */
    post: operations['createMember']
  }
  '/members/{id}': {
    /**
     * Read a member
     * @description Needs the role `admin`.
     */
    get: operations['readMember']
    /**
     * Remove a member
     * @description Its sessions and its link end within a second. What it has made stays.
     *
     *     Needs the role `admin`.
     */
    delete: operations['deleteMember']
    /**
     * Change a member
     * @description A merge patch. It holds within a second, for sessions that are open, too.
     *
     *     Needs the role `admin`.
     */
    patch: operations['changeMember']
  }
  '/members/{id}/invitation': {
    /**
     * Make a new link for a member
     * @description For whoever has lost the link, or whose sessions are over. The link before is void.
     *
     *     Needs the role `admin`.
     */
    post: operations['inviteMember']
  }
  '/quota/sync': {
    /**
     * Count all tenants' links anew
     * @description Needs the role `owner`.
     */
    post: operations['syncQuotas']
  }
  '/session': {
    /**
     * Who is signed in
     * @description Needs the role `viewer`.
     */
    get: operations['readSession']
    /**
     * Sign in
     * @description A browser exchanges a key, or the token of a link that signs in once, for a cookie that no script can read, and may then do what the key or the member may. It lives 8 hours after its last use, 7 days at most, and ends with its key or member. Writes by the cookie must come from a page of `PUBLIC_URL`. Needs https, or a `PUBLIC_URL` on this very machine.
     *
     *     Needs no key.
     */
    post: operations['signIn']
    /**
     * Sign out
     * @description Within a second its cookie is refused everywhere, wherever it has been copied to.
     *
     *     Needs the role `viewer`.
     */
    delete: operations['signOut']
  }
  '/sessions': {
    /**
     * List the sessions of an account
     * @description Of the key or the member that asks. The newest first.
     *
     *     Needs the role `viewer`.
     */
    get: operations['listSessions']
    /**
     * End all sessions of an account
     * @description This one among them, and a link that would begin another one. A key goes on.
     *
     *     Needs the role `viewer`.
     */
    delete: operations['endSessions']
  }
  '/sessions/{id}': {
    /**
     * End a session of an account
     * @description Needs the role `viewer`.
     */
    delete: operations['endSession']
  }
  '/sign-in': {
    /**
     * How one can sign in
     * @description Needs no key.
     */
    get: operations['readSignIn']
  }
  '/sign-in-links': {
    /**
     * Make a link that signs you in once
     * @description For a browser on another machine, or for whoever has a terminal. Good for 5 minutes; the one before is void.
     *
     *     Needs the role `owner`.
     */
    post: operations['createSignInLink']
  }
  '/stats': {
    /**
     * Who followed all links of a tenant
     * @description `top`, `other`, `unknown` and `withheld` add up to `total`. One dimension at a time: what is kept cannot say how many visits have two values at once. Hours are kept for 90 days, days for two years, months for ever, unless the operator has set other times; before that, a day or a month stands at its beginning. With `Accept: text/csv` the answer is a table for spreadsheets.
     *
     *     Needs the role `viewer`.
     */
    get: operations['readStats']
  }
  '/system': {
    /**
     * How the server is
     * @description Of all workers together, as `/metrics` of the ops port has it, and each worker with its breakers. Ask every few seconds at most: it costs what a scrape costs.
     *
     *     Needs the role `owner`.
     */
    get: operations['readSystem']
  }
  '/tags': {
    /**
     * List tags
     * @description In the order of the alphabet, and how many links each has.
     *
     *     Needs the role `viewer`.
     */
    get: operations['listTags']
  }
  '/tags/{tag}': {
    /**
     * Delete a tag
     * @description It is taken off all links that have it. The links stay.
     *
     *     Needs the role `editor`.
     */
    delete: operations['deleteTag']
    /**
     * Rename a tag
     * @description All links that have it show the new name; their `revision` stays. If there is a tag of that name already, the two become one: links of many thousands are moved in steps, and while that lasts, some have the one and some the other.
     *
     *     Needs the role `editor`.
     */
    patch: operations['renameTag']
  }
  '/tags/{tag}/stats': {
    /**
     * Who followed the links of a tag
     * @description Counted from when a link is given the tag until it is taken off, and with the tag until it is merged or deleted. `top`, `other`, `unknown` and `withheld` add up to `total`. One dimension at a time: what is kept cannot say how many visits have two values at once. Hours are kept for 90 days, days for two years, months for ever, unless the operator has set other times; before that, a day or a month stands at its beginning. With `Accept: text/csv` the answer is a table for spreadsheets.
     *
     *     Needs the role `viewer`.
     */
    get: operations['readTagStats']
  }
  '/tenants': {
    /**
     * List tenants
     * @description By their ids.
     *
     *     Needs the role `owner`.
     */
    get: operations['listTenants']
    /**
     * Make a tenant
     * @description Needs the role `owner`.
     */
    post: operations['createTenant']
  }
  '/tenants/{id}': {
    /**
     * Read a tenant
     * @description Needs the role `owner`.
     */
    get: operations['readTenant']
    /**
     * Delete a tenant
     * @description It must not have a link that may still redirect. Its keys are revoked.
     *
     *     Needs the role `owner`.
     */
    delete: operations['deleteTenant']
    /**
     * Change a tenant
     * @description A merge patch: what it names is changed, the rest stays.
     *
     *     Needs the role `owner`.
     */
    patch: operations['changeTenant']
  }
  '/tenants/{id}/keys': {
    /**
     * List keys
     * @description The newest first. Those that ended or were revoked are among them for 30 days.
     *
     *     Needs the role `admin`.
     */
    get: operations['listKeys']
    /**
     * Make a key
     * @description An admin makes keys of its own tenant. A tenant has at most 1000.
     *
     *     Needs the role `admin`.
     */
    post: operations['createKey']
  }
  '/tenants/{id}/keys/{keyId}': {
    /**
     * Read a key
     * @description What is known of it, not the key itself. One that was revoked is 404; the list has it for a while.
     *
     *     Needs the role `admin`.
     */
    get: operations['readKey']
    /**
     * Revoke a key
     * @description Within a second it is refused everywhere.
     *
     *     Needs the role `admin`.
     */
    delete: operations['revokeKey']
  }
  '/tenants/{id}/limits': {
    /**
     * What is used of a tenant's limits
     * @description Needs the role `owner`.
     */
    get: operations['readTenantLimits']
  }
  '/tenants/{id}/quota/sync': {
    /**
     * Count a tenant's links anew
     * @description It happens every night by itself, and whenever Redis may be wrong.
     *
     *     Needs the role `owner`.
     */
    post: operations['syncQuota']
  }
  '/visits/export': {
    /**
     * Export what is kept of visits
     * @description For another database. Of each link and hour or day a line with its totals (`dimension` and `value` are empty), and one for each value of each dimension; in no order, as it all was at one moment, as fast as you read it. Of links that are there; the owner gets those of all tenants, or of one. What a dimension's lines leave of the total is `withheld` or unknown; `(other)` is what was beyond 500 values. A tenant has one export at a time, of links or of visits. One that breaks off ends its connection without an end of the answer, which clients report as an error.
     *
     *     Needs the role `viewer`.
     */
    get: operations['exportVisits']
  }
}
export type webhooks = Record<string, never>
export interface components {
  schemas: {
    AuditEntry: {
      /**
       * @description The name of the operation, as here.
       * @example changeLink
       */
      action: string
      /** @description From where, for 30 days. The owner's is shown to the owner. */
      address: string | null
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      at: string
      by: {
        id: string
        /** @enum {string} */
        kind: 'owner' | 'key' | 'member'
        name: string
        /** @description null: by a key itself. */
        sessionId: string | null
        /**
         * @description The id of a tenant.
         * @example acme
         */
        tenant: string
      }
      /** @description What each field was and is; long ones are cut at 2048 characters. Never a password or a key. */
      changes: {
        [key: string]: {
          after?: unknown
          before?: unknown
        }
      } | null
      id: string
      /** @description What it was done to; of a link its code. */
      target: {
        /**
         * @description The host of its domain; null: the default one, of PUBLIC_URL.
         * @example go.example.com
         */
        domain: string | null
        id: string
        /** @enum {string} */
        kind: 'link' | 'tag' | 'domain' | 'tenant' | 'key' | 'member' | 'session' | 'import'
      }
      /**
       * @description In whose log it stands.
       * @example acme
       */
      tenant: string
    }
    AuditPage: {
      items: components['schemas']['AuditEntry'][]
      /** @description Where the next page begins; null on the last one. */
      nextCursor: string | null
    }
    BulkChange: {
      /** @description Those that do not exist yet are made. */
      addTags?: string[]
      /** @description false: visitors are answered 404. */
      enabled?: boolean
      /**
       * @description Where it leads from `expiresAt` on, and while the month's hits are used up; such a visit is no hit and no click. null: nowhere.
       * @example https://example.org/over
       */
      expiredUrl?: string | null
      /** @description When it ends, in the future, at most as late as the tenant's tier has it; null: as late. */
      expiresAt?: string | null
      /** @description true: what a visitor's query says is added to `url`, before its fragment; a name that both have is the visitor's. false: a query is ignored. */
      forwardQuery?: boolean
      /** @description Hits in a calendar month, at most as many as the tenant's tier has; null: as many. */
      monthlyHits?: number | null
      /** @description For the team: nobody else sees it. */
      note?: string | null
      /** @description Visitors are asked for it. It is never shown again, and neither is `url` as long as it is there; null: none. */
      password?: string | null
      /** @description true: visitors are answered 301, else 302. */
      permanent?: boolean
      /** @description Those that do not exist yet are made. */
      removeTags?: string[]
      /** @description Tried in their order; the first that fits says where a visitor is led, and `url` where all others are. Their URLs have together at most 8192 characters. null or []: none. */
      rules?:
        | {
            /**
             * Format: uri
             * @description As the `url` of a link.
             * @example https://apps.apple.com/app/id1
             */
            url: string
            when: components['schemas']['When']
          }[]
        | null
      /** @description When it begins: until then visitors are answered 404. Before `expiresAt`; null: at once. */
      startsAt?: string | null
      /** @description Those that do not exist yet are made. */
      tags?: string[]
      /** @description What people call it; null: nothing. */
      title?: string | null
      /**
       * Format: uri
       * @description Where it leads: http or https, and not to QuickLink's own host.
       * @example https://example.org/a/long/address
       */
      url?: string
    }
    Caches: {
      /**
       * @description The part of the short URL behind the slash.
       * @example spring
       */
      code: string
      /**
       * @description The host of its domain; null: the default one, of PUBLIC_URL.
       * @example go.example.com
       */
      domain: string | null
      postgres: {
        /**
         * @description It knows that there is nothing.
         * @constant
         */
        absent?: true
        expiredUrl?: string | null
        expiresAt?: string | null
        forwardQuery?: boolean
        permanent?: boolean
        startsAt?: string | null
        url?: string
        version?: number
      } | null
      process: number
      /** @description null: there is no Redis. */
      redis: {
        /**
         * @description It knows that there is nothing.
         * @constant
         */
        absent?: true
        cachedAt?: string | null
        expiredUrl?: string | null
        expiresAt?: string | null
        forwardQuery?: boolean
        /** @description null: it could not be asked. */
        holds: boolean | null
        /** @description Up to META_TTL_S old. */
        meta?: {
          /** @description Clicks. */
          c: number
          /** @description When it ends, in seconds since 1970. */
          e?: number
          /** @enum {string} */
          s: 'active' | 'disabled' | 'expired'
        } | null
        permanent?: boolean
        problem?: string
        startsAt?: string | null
        trusted: boolean
        ttlMs?: number
        url?: string
        version?: number
      } | null
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
      /** @description The memory of the process that answers. */
      tier1: {
        /**
         * @description It knows that there is nothing.
         * @constant
         */
        absent?: true
        ageMs: number
        expiredUrl?: string | null
        expiresAt?: string | null
        forwardQuery?: boolean
        fresh: boolean
        permanent?: boolean
        startsAt?: string | null
        url?: string
        version?: number
        vouched: boolean
      } | null
    }
    Clicks: {
      buckets: {
        /**
         * Format: date-time
         * @example 2030-01-31T12:00:00.000Z
         */
        at: string
        clicks: number
      }[]
      total: number
    }
    Domain: {
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /** @example go.example.com */
      host: string
      notFoundUrl: string | null
      rootUrl: string | null
      /** @description Who may make links there, besides the owner. */
      tenants: string[]
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      updatedAt: string
    }
    DomainChange: {
      /**
       * Format: uri
       * @description Where a visitor is sent who asks for a link that is not there; null: to the usual 404.
       * @example https://www.example.com/
       */
      notFoundUrl?: ((string | null) | null) | string | null
      /**
       * Format: uri
       * @description Where its `/` leads; null: to a small page.
       * @example https://www.example.com/
       */
      rootUrl?: ((string | null) | null) | string | null
      /** @description Who may make links there, besides the owner. */
      tenants?: string[]
    }
    Domains: {
      items: components['schemas']['Domain'][]
    }
    Hits: {
      limit: number | null
      /**
       * @description In UTC.
       * @example 2030-01
       */
      month: string
      remaining: number | null
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      resetsAt: string
      /** @description All hits have been handed out to servers, and those that they have not used come back or are lost within seconds: until then `remaining` is at most so much, and a visitor may be told 429. */
      settling: boolean
      used: number
    }
    Import: {
      created: number
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /** @description The name of the key that asked for it. */
      createdBy: string | null
      /**
       * @description The host of its domain; null: the default one, of PUBLIC_URL.
       * @example go.example.com
       */
      domain: string | null
      /** @description true: nothing is made, and the numbers say what would be. */
      dryRun: boolean
      endedAt: string | null
      /** @description Why it has failed. What was made before stays. */
      failure: string | null
      /**
       * @description What the file was recognised as, or was said to be.
       * @enum {string}
       */
      format: 'quicklink' | 'shlink' | 'yourls' | 'kutt' | 'bitly' | 'dub'
      id: string
      /** @enum {string} */
      onConflict: 'skip' | 'replace' | 'fail'
      /** @description Rows that are no links here: `/imports/{id}/refused` says why. */
      refused: number
      replaced: number
      /** @description Links that the file speaks of. */
      rows: number
      /** @description Links that were there already, with `onConflict=skip`. */
      skipped: number
      /** @enum {string} */
      state: 'queued' | 'running' | 'done' | 'failed'
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
      /** @description Links that could not get all that their row says. */
      warned: number
      /** @description The first 100. */
      warnings: {
        code: string | null
        /** @description Of the file. */
        line: number
        reason: string
      }[]
    }
    ImportItem: {
      created: number
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /** @description The name of the key that asked for it. */
      createdBy: string | null
      /**
       * @description The host of its domain; null: the default one, of PUBLIC_URL.
       * @example go.example.com
       */
      domain: string | null
      /** @description true: nothing is made, and the numbers say what would be. */
      dryRun: boolean
      endedAt: string | null
      /** @description Why it has failed. What was made before stays. */
      failure: string | null
      /**
       * @description What the file was recognised as, or was said to be.
       * @enum {string}
       */
      format: 'quicklink' | 'shlink' | 'yourls' | 'kutt' | 'bitly' | 'dub'
      id: string
      /** @enum {string} */
      onConflict: 'skip' | 'replace' | 'fail'
      /** @description Rows that are no links here: `/imports/{id}/refused` says why. */
      refused: number
      replaced: number
      /** @description Links that the file speaks of. */
      rows: number
      /** @description Links that were there already, with `onConflict=skip`. */
      skipped: number
      /** @enum {string} */
      state: 'queued' | 'running' | 'done' | 'failed'
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
      /** @description Links that could not get all that their row says. */
      warned: number
    }
    ImportPage: {
      items: components['schemas']['ImportItem'][]
      /** @description Where the next page begins; null on the last one. */
      nextCursor: string | null
    }
    Invalidated: {
      /**
       * @description The part of the short URL behind the slash.
       * @example spring
       */
      code: string
      /**
       * @description The host of its domain; null: the default one, of PUBLIC_URL.
       * @example go.example.com
       */
      domain: string | null
      version: number
    }
    Invalidation: {
      /**
       * @description A code of your own, of 3 to 64 letters, digits, `_` and `-`. Some words (`api`, `docs`, …) are reserved.
       * @example spring
       */
      code: string
      /**
       * @description The host of a further domain; by default, PUBLIC_URL's.
       * @example go.example.com
       */
      domain?: string
    }
    Invitation: {
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      endsAt: string
      /**
       * @description Whom it has come from.
       * @enum {string}
       */
      kind: 'owner' | 'key' | 'member'
      /** @description Of the key or the member; what links that it makes show as `createdBy`. */
      name: string
      /** @enum {string} */
      role: 'viewer' | 'editor' | 'admin' | 'owner'
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
    }
    InvitationAsked: {
      /** @description Of a link that signs in once: what follows `#token=`. */
      token: string
    }
    Key: {
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      expiresAt: string | null
      /** @example key_5Kd2vXgWm1Qz */
      id: string
      name: string
      revokedAt: string | null
      /** @enum {string} */
      role: 'viewer' | 'editor' | 'admin' | 'owner'
    }
    KeyOnce: {
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      expiresAt: string | null
      /** @example key_5Kd2vXgWm1Qz */
      id: string
      /** @description The key itself, this once. */
      key: string
      name: string
      revokedAt: string | null
      /** @enum {string} */
      role: 'viewer' | 'editor' | 'admin' | 'owner'
    }
    Keys: {
      items: components['schemas']['Key'][]
    }
    Link: {
      /** @description How often it was followed, up to a few seconds ago; with what an import has brought along. */
      clicks: number
      /**
       * @description The part of the short URL behind the slash.
       * @example spring
       */
      code: string
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /** @description The name of the key or the member that made it. */
      createdBy: string | null
      /**
       * @description The host of its domain; null: the default one, of PUBLIC_URL.
       * @example go.example.com
       */
      domain: string | null
      /** @description false: visitors are answered 404. */
      enabled: boolean
      /** @description Where it leads when it has ended, or the month's hits are used up; null: nowhere. */
      expiredUrl: string | null
      /** @description From then on visitors are sent to `expiredUrl`, or answered 404; null: never. */
      expiresAt: string | null
      /** @description true: what a visitor's query says is added to `url`. */
      forwardQuery: boolean
      /** @description Visitors are asked for a password first. */
      hasPassword: boolean
      /** @description How often it redirects in a calendar month (UTC); null: without a limit. */
      monthlyHits: number | null
      note: string | null
      /** @description Visitors are answered 301, and may remember it for 90 seconds; else 302. */
      permanent: boolean
      /** @description How often title, note or tags were changed. */
      revision: number
      /** @description The first that fits says where a visitor is led; `url`, where all others are. */
      rules: {
        url: string
        when: {
          /**
           * Format: date-time
           * @example 2030-01-31T12:00:00.000Z
           */
          after?: string
          /**
           * Format: date-time
           * @example 2030-01-31T12:00:00.000Z
           */
          before?: string
          /** @enum {string} */
          device?: 'mobile' | 'tablet' | 'desktop'
          language?: string
          /** @enum {string} */
          os?: 'android' | 'ios' | 'windows' | 'macos' | 'linux' | 'chromeos'
          query?: {
            [key: string]: string
          }
        }
      }[]
      /**
       * Format: uri
       * @example https://go.example.org/spring
       */
      shortUrl: string
      /** @description Until then visitors are answered 404; null: from the start. */
      startsAt: string | null
      /**
       * @description What it is now, by its dates and `enabled`.
       * @enum {string}
       */
      state: 'active' | 'scheduled' | 'expired' | 'disabled'
      /**
       * @example [
       *       "Spring"
       *     ]
       */
      tags: string[]
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
      title: string | null
      /**
       * Format: date-time
       * @description When any of it was changed last.
       * @example 2030-01-31T12:00:00.000Z
       */
      updatedAt: string
      /**
       * @description Where it leads, exactly as visitors are sent there: as browsers write URLs (WHATWG), in ASCII. null: whoever knows the password is led there.
       * @example https://example.org/a/long/address
       */
      url: string | null
      /** @description A change of what visitors notice makes it larger. */
      version: number
    }
    LinkChange: {
      /** @description false: visitors are answered 404. */
      enabled?: boolean
      /**
       * @description Where it leads from `expiresAt` on, and while the month's hits are used up; such a visit is no hit and no click. null: nowhere.
       * @example https://example.org/over
       */
      expiredUrl?: string | null
      /** @description When it ends, in the future, at most as late as the tenant's tier has it; null: as late. */
      expiresAt?: string | null
      /** @description true: what a visitor's query says is added to `url`, before its fragment; a name that both have is the visitor's. false: a query is ignored. */
      forwardQuery?: boolean
      /** @description Hits in a calendar month, at most as many as the tenant's tier has; null: as many. */
      monthlyHits?: number | null
      /** @description For the team: nobody else sees it. */
      note?: string | null
      /** @description Visitors are asked for it. It is never shown again, and neither is `url` as long as it is there; null: none. */
      password?: string | null
      /** @description true: visitors are answered 301, else 302. */
      permanent?: boolean
      /** @description Tried in their order; the first that fits says where a visitor is led, and `url` where all others are. Their URLs have together at most 8192 characters. null or []: none. */
      rules?:
        | {
            /**
             * Format: uri
             * @description As the `url` of a link.
             * @example https://apps.apple.com/app/id1
             */
            url: string
            when: components['schemas']['When']
          }[]
        | null
      /** @description When it begins: until then visitors are answered 404. Before `expiresAt`; null: at once. */
      startsAt?: string | null
      /** @description Those that do not exist yet are made. */
      tags?: string[]
      /** @description What people call it; null: nothing. */
      title?: string | null
      /**
       * Format: uri
       * @description Where it leads: http or https, and not to QuickLink's own host.
       * @example https://example.org/a/long/address
       */
      url?: string
    }
    LinkFilter: {
      /**
       * Format: date-time
       * @description Only those that were created then or later.
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAfter?: string
      /**
       * Format: date-time
       * @description Only those that were created earlier.
       * @example 2030-01-31T12:00:00.000Z
       */
      createdBefore?: string
      /** @description Only those that were made by a key of this name. */
      createdBy?: string
      /**
       * @description Of one domain; the default one by PUBLIC_URL's host.
       * @example go.example.com
       */
      domain?: string
      /** @description Only those that are, or are not. */
      enabled?: boolean
      /** @description A part of the code, of the first 500 characters of the URL, or of the title, without regard to case. On a database without pg_trgm, their beginning. */
      q?: string
      /**
       * @description Only those that are in this state now.
       * @enum {string}
       */
      state?: 'active' | 'scheduled' | 'expired' | 'disabled'
      /**
       * @description Only those that have this tag.
       * @example Spring
       */
      tag?: string
      /**
       * @description Whose links. Others than its own only the owner may list.
       * @example acme
       */
      tenant?: string
      /**
       * Format: uri
       * @description Only those that lead exactly there.
       */
      url?: string
    }
    LinkOnce: {
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      endsAt: string
      url: string
    }
    LinkPage: {
      items: components['schemas']['Link'][]
      /** @description Where the next page begins; null on the last one. */
      nextCursor: string | null
    }
    /** @description With either `codes` or a `filter`. */
    LinksChange: {
      change: components['schemas']['BulkChange']
      /**
       * @description Codes of links, of the default domain or of `domain`.
       * @example [
       *       "spring",
       *       "summer"
       *     ]
       */
      codes?: string[]
      /** @description `nextCursor` of the answer before: goes on behind the links of that one. It fits the same filter only. */
      cursor?: string
      filter?: components['schemas']['LinkFilter']
    }
    LinksChanged: {
      /** @description Of a filter: where the next links begin; null when no more fit. */
      nextCursor: string | null
      results: {
        /** @description As it is now. */
        link?: components['schemas']['Link']
        /** @description Why nothing was done. */
        problem?: components['schemas']['Problem']
        /** @description What one call of it would be answered: 200, or that of `problem`. */
        status: number
      }[]
    }
    LinksDeleted: {
      /** @description Of a filter: where the next links begin; null when no more fit. */
      nextCursor: string | null
      results: {
        code: string
        /** @description Why nothing was done. */
        problem?: components['schemas']['Problem']
        /** @description 204: it is deleted; or that of `problem`. */
        status: number
      }[]
    }
    LinksMade: {
      results: {
        /** @description It is made; with `onExisting=return`, status 200: it was there. */
        link?: components['schemas']['Link']
        /** @description Why nothing was done. */
        problem?: components['schemas']['Problem']
        /** @description What one call of it would be answered: 201, or that of `problem`. */
        status: number
      }[]
    }
    /** @description Either `codes` or a `filter`. */
    LinksToDelete: {
      /**
       * @description Codes of links, of the default domain or of `domain`.
       * @example [
       *       "spring",
       *       "summer"
       *     ]
       */
      codes?: string[]
      /** @description `nextCursor` of the answer before: goes on behind the links of that one. It fits the same filter only. */
      cursor?: string
      filter?: components['schemas']['LinkFilter']
    }
    Member: {
      /**
       * @description How it signs in.
       * @enum {string}
       */
      by: 'invitation' | 'oidc'
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /** @example member_5Kd2vXgWm1Qz */
      id: string
      name: string
      /** @enum {string} */
      role: 'viewer' | 'editor' | 'admin' | 'owner'
      /** @description When it has signed in last. */
      signedInAt: string | null
      /** @enum {string} */
      state: 'invited' | 'joined'
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
    }
    MemberChange: {
      /**
       * @description What the links show that it makes.
       * @example Ada
       */
      name?: string
      /**
       * @description What it may do, at most as much as you.
       * @enum {string}
       */
      role?: 'viewer' | 'editor' | 'admin'
    }
    MemberOnce: {
      /**
       * @description How it signs in.
       * @enum {string}
       */
      by: 'invitation' | 'oidc'
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /** @example member_5Kd2vXgWm1Qz */
      id: string
      invitation: components['schemas']['LinkOnce']
      name: string
      /** @enum {string} */
      role: 'viewer' | 'editor' | 'admin' | 'owner'
      /** @description When it has signed in last. */
      signedInAt: string | null
      /** @enum {string} */
      state: 'invited' | 'joined'
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
    }
    Members: {
      items: components['schemas']['Member'][]
    }
    NewDomain: {
      /** @description What its short URLs have as their host: a name, of which letters beyond ASCII become `xn--…`. */
      host: string
      /**
       * Format: uri
       * @description Where a visitor is sent who asks for a link that is not there; null: to the usual 404.
       * @example https://www.example.com/
       */
      notFoundUrl?: ((string | null) | null) | string | null
      /**
       * Format: uri
       * @description Where its `/` leads; null: to a small page.
       * @example https://www.example.com/
       */
      rootUrl?: ((string | null) | null) | string | null
      /** @description Who may make links there, besides the owner. */
      tenants?: string[]
    }
    NewKey: {
      /** @description When it ends, in the future; null: never. */
      expiresAt?: string | null
      /**
       * @description For people.
       * @example Acme
       */
      name: string
      /**
       * @description What it may do, at most as much as yours. By default `editor`; of the tenant `owner`: `owner`, which only its keys can be.
       * @enum {string}
       */
      role?: 'viewer' | 'editor' | 'admin' | 'owner'
    }
    NewLink: {
      /**
       * @description A code of your own, of 3 to 64 letters, digits, `_` and `-`. Some words (`api`, `docs`, …) are reserved.
       * @example spring
       */
      code?: string
      /**
       * @description The host of a further domain; by default, PUBLIC_URL's.
       * @example go.example.com
       */
      domain?: string
      /** @description false: visitors are answered 404. */
      enabled?: boolean
      /**
       * @description Where it leads from `expiresAt` on, and while the month's hits are used up; such a visit is no hit and no click. null: nowhere.
       * @example https://example.org/over
       */
      expiredUrl?: string | null
      /** @description When it ends, in the future, at most as late as the tenant's tier has it; null: as late. */
      expiresAt?: string | null
      /** @description true: what a visitor's query says is added to `url`, before its fragment; a name that both have is the visitor's. false: a query is ignored. */
      forwardQuery?: boolean
      /** @description Hits in a calendar month, at most as many as the tenant's tier has; null: as many. */
      monthlyHits?: number | null
      /** @description For the team: nobody else sees it. */
      note?: string | null
      /** @description Visitors are asked for it. It is never shown again, and neither is `url` as long as it is there; null: none. */
      password?: string | null
      /** @description true: visitors are answered 301, else 302. */
      permanent?: boolean
      /** @description Tried in their order; the first that fits says where a visitor is led, and `url` where all others are. Their URLs have together at most 8192 characters. null or []: none. */
      rules?:
        | {
            /**
             * Format: uri
             * @description As the `url` of a link.
             * @example https://apps.apple.com/app/id1
             */
            url: string
            when: components['schemas']['When']
          }[]
        | null
      /** @description When it begins: until then visitors are answered 404. Before `expiresAt`; null: at once. */
      startsAt?: string | null
      /** @description Those that do not exist yet are made. */
      tags?: string[]
      /** @description What people call it; null: nothing. */
      title?: string | null
      /**
       * Format: uri
       * @description Where it leads: http or https, and not to QuickLink's own host.
       * @example https://example.org/a/long/address
       */
      url: string
    }
    NewLinks: {
      links: components['schemas']['NewLink'][]
    }
    NewMember: {
      /**
       * @description What the links show that it makes.
       * @example Ada
       */
      name: string
      /**
       * @description What it may do, at most as much as you.
       * @enum {string}
       */
      role: 'viewer' | 'editor' | 'admin'
      /**
       * @description Of another tenant: for the owner.
       * @example acme
       */
      tenant?: string
    }
    NewSession: {
      /** @description A key of a tenant, or of the owner. */
      key?: string
      /** @description Of a link that signs in once: what follows `#token=`. */
      token?: string
    }
    NewTenant: {
      /** @example acme */
      id: string
      /** @description Links that it may have; null: as many as its tier's. */
      linkQuota?: number | null
      /**
       * @description For people.
       * @example Acme
       */
      name: string
      /** @description Whether the address of a link with `+` behind it is a page that shows where it leads. */
      preview?: boolean
      /**
       * @description What it may use.
       * @enum {string}
       */
      tier: 'standard' | 'plus' | 'unlimited'
    }
    Problem: {
      /** @description For programs. */
      code: string
      /** @description One sentence for people. */
      detail: string
      /** @description What of the request is wrong, or clashes. */
      field?: string
      limit?: number
      status: number
      title: string
      /** @constant */
      type: 'about:blank'
      used?: number
    } & {
      [key: string]: unknown
    }
    QuotaSync: {
      after: number | null
      /** @description What Redis had; null: nothing, or there is none. */
      before: number | null
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
      /** @description Links of the tenant, as counted in Postgres. */
      used: number
    }
    QuotaSyncs: {
      items: components['schemas']['QuotaSync'][]
    }
    Session: {
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /**
       * Format: date-time
       * @description When it ends if it is not used again.
       * @example 2030-01-31T12:00:00.000Z
       */
      endsAt: string
      /**
       * @description It is no secret.
       * @example session_5Kd2vXgWm1Qz
       */
      id: string
      keyName: string | null
      /**
       * @description Whom it has come from.
       * @enum {string}
       */
      kind: 'owner' | 'key' | 'member'
      memberId: string | null
      /** @description Of the key or the member; what links that it makes show as `createdBy`. */
      name: string
      /** @enum {string} */
      role: 'viewer' | 'editor' | 'admin' | 'owner'
      /**
       * @description The id of a tenant.
       * @example acme
       */
      tenant: string
      /**
       * Format: date-time
       * @description Its last request, up to a minute ago.
       * @example 2030-01-31T12:00:00.000Z
       */
      usedAt: string
    }
    Sessions: {
      items: {
        /**
         * Format: date-time
         * @example 2030-01-31T12:00:00.000Z
         */
        createdAt: string
        /** @description It asks for this list. */
        current: boolean
        /**
         * Format: date-time
         * @description When it ends if it is not used again.
         * @example 2030-01-31T12:00:00.000Z
         */
        endsAt: string
        /**
         * @description It is no secret.
         * @example session_5Kd2vXgWm1Qz
         */
        id: string
        /**
         * Format: date-time
         * @description Its last request, up to a minute ago.
         * @example 2030-01-31T12:00:00.000Z
         */
        usedAt: string
      }[]
    }
    SignInWays: {
      /**
       * @description By `POST /session`.
       * @constant
       */
      key: true
      /**
       * @description By an identity provider: a browser is led to `start`, with `returnTo`, a path under `/console` where it ends; null: not here.
       * @example {
       *       "issuer": "https://id.example.org",
       *       "start": "/api/v1/sign-in/oidc"
       *     }
       */
      oidc: {
        issuer: string
        start: string
      } | null
      /** @description Whether a browser may: not by plain http, but on this very machine. */
      safe: boolean
    }
    Stats: {
      /** @description There were at least so many visitors: not every visit was looked at. */
      atLeast: boolean
      /** @description The time before, of the same length. */
      before: {
        /**
         * Format: date-time
         * @example 2030-01-31T12:00:00.000Z
         */
        from: string
        people: number
        /**
         * Format: date-time
         * @example 2030-01-31T12:00:00.000Z
         */
        to: string
        total: number
      }
      /** @enum {string} */
      by: 'hour' | 'day' | 'week' | 'month'
      /** @description Where it is several days: the sum of the different people of each. Who came on two days is counted twice. */
      dailyVisitors?: number
      /** @description How many visits were looked at. */
      detailed: number
      /** @enum {string} */
      dimension:
        | 'referrer'
        | 'utm_source'
        | 'utm_medium'
        | 'utm_campaign'
        | 'country'
        | 'browser'
        | 'os'
        | 'device'
        | 'language'
        | 'bot'
        | 'target'
      /**
       * Format: date-time
       * @description Where it begins: at a full hour, or where what is kept of that time begins.
       * @example 2030-01-31T12:00:00.000Z
       */
      from: string
      /** @description What to know of these figures, in sentences. */
      notes: string[]
      /** @description Values that are not in `top`. */
      other: {
        people: number
        total: number
      }
      /** @description Those of people: no bots, no previews of links, no prefetches. */
      people: number
      /** @description Not every visit was looked at: values are estimates, and their `error` says how good they are. */
      sampled: boolean
      /** @description Without gaps. */
      series: {
        /**
         * Format: date-time
         * @example 2030-01-31T12:00:00.000Z
         */
        at: string
        people: number
        total: number
      }[]
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      to: string
      top: {
        /** @description How far off `total` may be, in 95 of 100 cases. 0: it is exact. */
        error: number
        people: number
        total: number
        value: string
      }[]
      /** @description Visits: every redirect. */
      total: number
      tz: string
      /** @description Visits that say nothing of it: of referrers, those that came directly. */
      unknown: {
        people: number
        total: number
      }
      /** @description Different people, to about 2 %, where all of it is one day in UTC. Days count whole. */
      visitors?: number
      /** @description Of the people: those who ask not to be counted further. Nothing else is known of them. */
      withheld: number
    }
    System: {
      /** @description Redirects by the tier that answered; the last had to ask Postgres. */
      answered: {
        postgres: number
        redis: number
        tier1: number
      }
      /** @description From the commit of a change until a process has it: 99 of 100 within so many seconds. */
      changes: {
        p99AtMostS: number | null
        seen: number
      }
      clicks: {
        accepted: number
        dropped: number
        persisted: number
        spooled: number
      }
      commit: string
      /** @description Lookups that went to Postgres because Redis could not answer. */
      fallbacks: {
        error: number
        open: number
        timeout: number
        untrusted: number
      }
      /** @enum {string} */
      frontDoor: 'raw' | 'http'
      /** @description Requests that the front door left to node:http, by what they are. */
      handovers: {
        api: number
        aside: number
        body: number
        console: number
        method: number
        partial: number
        unrecognised: number
      }
      health: {
        /** @enum {string} */
        postgres: 'up' | 'down'
        /** @enum {string} */
        redis: 'up' | 'down' | 'off'
        /** @enum {string} */
        status: 'ok' | 'degraded'
      }
      /** @description GRAFANA_URL and RUNBOOK_URL; null: not set. */
      links: {
        grafana: string | null
        runbook: string | null
      }
      logDropped: number
      /** @description Lookups that left tier 1, by who answered. */
      lookups: {
        none: number
        postgres: number
        redis: number
        stale: number
      }
      node: string
      /** @enum {string} */
      phase: 'starting' | 'serving' | 'no_workers' | 'draining'
      /** @description Answers of the redirect path. All counts are since the start. */
      redirects: number
      shed: number
      staleAnswersFound: number
      /** @description Since Redis was last made fresh, of the worker that is worst off. */
      trustAgeS: number | null
      upkeepFailures: number
      uptimeS: number
      version: string
      /** @description Copies in tier 1 that passes vouch for. */
      vouchedCopies: number
      workerRestarts: number
      workers: {
        number: number
        /** @description null: the worker did not answer in time, or there is no Redis. */
        postgres: ('closed' | 'half_open' | 'open') | null
        /** @description null: the worker did not answer in time, or there is no Redis. */
        redis: ('closed' | 'half_open' | 'open') | null
        restarts: number
        serving: boolean
        /** @description Whether it trusts Redis now. */
        trusted: boolean | null
      }[]
    }
    Tag: {
      links: number
      tag: string
    }
    TagChange: {
      /**
       * @description Without a comma or a bar, and not `.` or `..`. Upper and lower case are the same tag.
       * @example Spring
       */
      name: string
    }
    TagPage: {
      items: components['schemas']['Tag'][]
      /** @description Where the next page begins; null on the last one. */
      nextCursor: string | null
    }
    Tenant: {
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      createdAt: string
      /**
       * @description The id of a tenant.
       * @example acme
       */
      id: string
      linkQuota: number | null
      name: string
      preview: boolean
      /** @enum {string} */
      tier: 'standard' | 'plus' | 'unlimited'
      /**
       * Format: date-time
       * @example 2030-01-31T12:00:00.000Z
       */
      updatedAt: string
    }
    TenantChange: {
      /** @description Links that it may have; null: as many as its tier's. */
      linkQuota?: number | null
      /**
       * @description For people.
       * @example Acme
       */
      name?: string
      /** @description Whether the address of a link with `+` behind it is a page that shows where it leads. */
      preview?: boolean
      /**
       * @description What it may use.
       * @enum {string}
       */
      tier?: 'standard' | 'plus' | 'unlimited'
    }
    TenantPage: {
      items: components['schemas']['Tenant'][]
      /** @description Where the next page begins; null on the last one. */
      nextCursor: string | null
    }
    Usage: {
      /** @description Creates of all tenants of the tier standard together. */
      aggregate: {
        limit: number | null
        /** @description Four fifths of it are used. */
        near: boolean | null
        /** @description For the owner. */
        remaining?: number | null
        resetsAt: string | null
        /** @description For the owner. */
        used?: number | null
      }
      /** @description Of an hour; null where the tier has no such limit. */
      changes: {
        limit: number | null
        remaining: number | null
        resetsAt: string | null
        used: number | null
      }
      /** @description Of an hour; null where the tier has no such limit. */
      creates: {
        limit: number | null
        remaining: number | null
        resetsAt: string | null
        used: number | null
      }
      /** @description As many creates that fail are free; further ones count as creates. */
      failedCreates: {
        limit: number | null
        remaining: number | null
        resetsAt: string | null
        used: number | null
      }
      links: {
        limit: number | null
        used: number
      }
      /** @enum {string} */
      tier: 'standard' | 'plus' | 'unlimited'
    }
    /** @description All that it names has to be so. */
    When: {
      /**
       * Format: date-time
       * @description From this second on.
       * @example 2030-01-31T12:00:00.000Z
       */
      after?: string
      /**
       * Format: date-time
       * @description Until this second.
       * @example 2030-01-31T12:00:00.000Z
       */
      before?: string
      /** @enum {string} */
      device?: 'mobile' | 'tablet' | 'desktop'
      /**
       * @description The visitor's first choice; `de` is also `de-CH`.
       * @example de
       */
      language?: string
      /** @enum {string} */
      os?: 'android' | 'ios' | 'windows' | 'macos' | 'linux' | 'chromeos'
      /**
       * @description What the short URL is asked for with, each name with this value.
       * @example {
       *       "from": "poster"
       *     }
       */
      query?: {
        [key: string]: string
      }
    }
  }
  responses: {
    /** @description `conflict`: This clashes with what exists. */
    Conflict: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'conflict'
        }
      }
    }
    /** @description `forbidden`: This key may not do that. */
    Forbidden: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'forbidden'
        }
      }
    }
    /** @description `forbidden`: This key may not do that. `quota_exceeded`: The quota is used up. */
    ForbiddenOrQuotaExceeded: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'forbidden' | 'quota_exceeded'
        }
      }
    }
    /** @description `internal`: Something went wrong. */
    Internal: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'internal'
        }
      }
    }
    /** @description `invalid`: The request is not valid. */
    Invalid: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'invalid'
        }
      }
    }
    /** @description `not_found`: There is nothing here. */
    NotFound: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'not_found'
        }
      }
    }
    /** @description `precondition_failed`: This has changed since it was read. */
    PreconditionFailed: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'precondition_failed'
        }
      }
    }
    /** @description `rate_limited`: Too many requests. */
    RateLimited: {
      headers: {
        RateLimit: components['headers']['RateLimit']
        'RateLimit-Policy': components['headers']['RateLimit-Policy']
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'rate_limited'
        }
      }
    }
    /** @description `too_large`: The request is too large. */
    TooLarge: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'too_large'
        }
      }
    }
    /** @description `unauthorized`: A valid API key is needed. */
    Unauthorized: {
      headers: {
        'WWW-Authenticate': components['headers']['WWW-Authenticate']
        [name: string]: unknown
      }
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'unauthorized'
        }
      }
    }
    /** @description `unavailable`: Temporarily unavailable. */
    Unavailable: {
      headers: {
        'Retry-After': components['headers']['Retry-After']
        [name: string]: unknown
      }
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'unavailable'
        }
      }
    }
    /** @description `unsupported_format`: This format is not supported. */
    UnsupportedFormat: {
      content: {
        'application/problem+json': components['schemas']['Problem'] & {
          /** @enum {unknown} */
          code?: 'unsupported_format'
        }
      }
    }
  }
  parameters: never
  requestBodies: never
  headers: {
    /** @description Which state of the link this is: for `If-Match`. It says nothing of `clicks`. */
    ETag: string
    /** @description Where it can be read. */
    Location: string
    /** @description What is left of it, and the seconds until it begins anew. */
    RateLimit: string
    /** @description The limit that was reached: its quota and its window in seconds. */
    'RateLimit-Policy': string
    /** @description Seconds to wait. */
    'Retry-After': string
    /** @description The cookie of the session. */
    'Set-Cookie': string
    /** @description How to give a key. */
    'WWW-Authenticate': string
  }
  pathItems: never
}
export type $defs = Record<string, never>
export interface operations {
  listAudit: {
    parameters: {
      query?: {
        /** @description Of this link only. */
        code?: string
        /** @description `nextCursor` of the page before. It fits its own list only. */
        cursor?: string
        /** @description Its domain, with `code`. */
        domain?: string
        /** @description How many items a page has at most. */
        limit?: number
        /** @description In this tenant's log. */
        tenant?: string
      }
    }
    responses: {
      /** @description A page of the log. */
      200: {
        content: {
          'application/json': components['schemas']['AuditPage']
          'application/x-ndjson': string
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readCache: {
    parameters: {
      query?: {
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
      }
      path: {
        /** @description The code of a link. */
        code: string
      }
    }
    responses: {
      /** @description What each of them would answer with. */
      200: {
        content: {
          'application/json': components['schemas']['Caches']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  invalidateCache: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "code": "spring"
         *     }
         */
        'application/json': components['schemas']['Invalidation']
      }
    }
    responses: {
      /** @description The link has a new version, which is announced like any change. */
      200: {
        content: {
          'application/json': components['schemas']['Invalidated']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listDomains: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description The domains. */
      200: {
        content: {
          'application/json': components['schemas']['Domains']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createDomain: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "host": "go.example.com",
         *       "tenants": []
         *     }
         */
        'application/json': components['schemas']['NewDomain']
      }
    }
    responses: {
      /** @description The domain. */
      201: {
        headers: {
          Location: components['headers']['Location']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Domain']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readDomain: {
    parameters: {
      path: {
        /** @description The host of a domain. */
        host: string
      }
    }
    responses: {
      /** @description The domain. */
      200: {
        content: {
          'application/json': components['schemas']['Domain']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteDomain: {
    parameters: {
      path: {
        /** @description The host of a domain. */
        host: string
      }
    }
    responses: {
      /** @description It is removed. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  changeDomain: {
    parameters: {
      path: {
        /** @description The host of a domain. */
        host: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "notFoundUrl": "https://www.example.com/"
         *     }
         */
        'application/json': components['schemas']['DomainChange']
        /**
         * @example {
         *       "notFoundUrl": "https://www.example.com/"
         *     }
         */
        'application/merge-patch+json': components['schemas']['DomainChange']
      }
    }
    responses: {
      /** @description The domain as it is now. */
      200: {
        content: {
          'application/json': components['schemas']['Domain']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listImports: {
    parameters: {
      query?: {
        /** @description `nextCursor` of the page before. It fits its own list only. */
        cursor?: string
        /** @description How many items a page has at most. */
        limit?: number
        /** @description Whose. Others than its own only the owner may list. */
        tenant?: string
      }
    }
    responses: {
      /** @description A page of imports. */
      200: {
        content: {
          'application/json': components['schemas']['ImportPage']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createImport: {
    parameters: {
      query?: {
        /** @description Where all the links go; by default PUBLIC_URL's host, and links of our own export to the domain that they name. */
        domain?: string
        /** @description Makes nothing, and counts what would be. */
        dryRun?: boolean
        /** @description Whose file it is; `auto`: as it looks. */
        format?: 'auto' | 'quicklink' | 'shlink' | 'yourls' | 'kutt' | 'bitly' | 'dub'
        /** @description What becomes of a row whose code the tenant has already, or an earlier row of the file has: the link stays as it is, becomes what the row says and keeps its id, dates and clicks, or the import ends there. A code of another tenant is refused. */
        onConflict?: 'skip' | 'replace' | 'fail'
        /** @description Whose links they become. Others than its own only the owner may name. */
        tenant?: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example code,url
         *     spring,https://example.org/a/long/address
         */
        'application/octet-stream': string
      }
    }
    responses: {
      /** @description The file is kept, and will be worked off. */
      202: {
        headers: {
          Location: components['headers']['Location']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Import']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      413: components['responses']['TooLarge']
      415: components['responses']['UnsupportedFormat']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readImport: {
    parameters: {
      path: {
        /** @description The id of an import. */
        id: string
      }
    }
    responses: {
      /** @description The import. */
      200: {
        content: {
          'application/json': components['schemas']['Import']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteImport: {
    parameters: {
      path: {
        /** @description The id of an import. */
        id: string
      }
    }
    responses: {
      /** @description It is forgotten. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readRefused: {
    parameters: {
      path: {
        /** @description The id of an import. */
        id: string
      }
    }
    responses: {
      /** @description The rows, in the order of the file. */
      200: {
        content: {
          'text/csv': string
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readInvitation: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "token": "qi_…"
         *     }
         */
        'application/json': components['schemas']['InvitationAsked']
      }
    }
    responses: {
      /** @description The account. */
      200: {
        content: {
          'application/json': components['schemas']['Invitation']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readLimits: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description The caller's tenant. */
      200: {
        content: {
          'application/json': components['schemas']['Usage']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listLinks: {
    parameters: {
      query?: {
        /** @description Only those that were created then or later. */
        createdAfter?: string
        /** @description Only those that were created earlier. */
        createdBefore?: string
        /** @description Only those that were made by a key of this name. */
        createdBy?: string
        /** @description `nextCursor` of the page before. It fits its own list only. */
        cursor?: string
        /** @description Of one domain; the default one by PUBLIC_URL's host. */
        domain?: string
        /** @description Only those that are, or are not. */
        enabled?: boolean
        /** @description How many items a page has at most. */
        limit?: number
        /** @description A part of the code, of the first 500 characters of the URL, or of the title, without regard to case. On a database without pg_trgm, their beginning. */
        q?: string
        /** @description `newest` and `oldest` by when they were created, `updated` by when they were changed last, `clicks` by how often they were followed until they were counted last, a minute ago or, among very many links, up to half an hour: a link that moves meanwhile may come twice in a list, or not at all. */
        sort?: 'newest' | 'oldest' | 'updated' | 'clicks'
        /** @description Only those that are in this state now. */
        state?: 'active' | 'scheduled' | 'expired' | 'disabled'
        /** @description Only those that have this tag. */
        tag?: string
        /** @description Whose links. Others than its own only the owner may list. */
        tenant?: string
        /** @description Only those that lead exactly there. */
        url?: string
      }
    }
    responses: {
      /** @description A page of links. */
      200: {
        content: {
          'application/json': components['schemas']['LinkPage']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createLink: {
    parameters: {
      query?: {
        /** @description With `return`, the newest plain link of the tenant to this URL is answered, if there is one, as it is: enabled, on this domain, with the tier's own end and hits, and nothing else that says when or where it leads. Of two such requests at the same moment one makes it. */
        onExisting?: 'return'
      }
      header?: {
        /** @description Makes it safe to repeat the request. Another body under the same key is 409. */
        'Idempotency-Key'?: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "url": "https://example.org/a/long/address",
         *       "code": "spring"
         *     }
         */
        'application/json': components['schemas']['NewLink']
      }
    }
    responses: {
      /** @description With `onExisting=return`: the link that was there. */
      200: {
        headers: {
          ETag: components['headers']['ETag']
          Location: components['headers']['Location']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Link']
        }
      }
      /** @description The link. */
      201: {
        headers: {
          ETag: components['headers']['ETag']
          Location: components['headers']['Location']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Link']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['ForbiddenOrQuotaExceeded']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readLink: {
    parameters: {
      query?: {
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
      }
      path: {
        /** @description The code of a link. */
        code: string
      }
    }
    responses: {
      /** @description The link. */
      200: {
        headers: {
          ETag: components['headers']['ETag']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Link']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteLink: {
    parameters: {
      query?: {
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
      }
      header?: {
        /** @description The `ETag` that you have read: if the link has changed since, nothing is done, and the answer is 412. */
        'If-Match'?: string
      }
      path: {
        /** @description The code of a link. */
        code: string
      }
    }
    responses: {
      /** @description It is deleted. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      412: components['responses']['PreconditionFailed']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  changeLink: {
    parameters: {
      query?: {
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
      }
      header?: {
        /** @description The `ETag` that you have read: if the link has changed since, nothing is done, and the answer is 412. */
        'If-Match'?: string
      }
      path: {
        /** @description The code of a link. */
        code: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "url": "https://example.org/another/address"
         *     }
         */
        'application/json': components['schemas']['LinkChange']
        /**
         * @example {
         *       "url": "https://example.org/another/address"
         *     }
         */
        'application/merge-patch+json': components['schemas']['LinkChange']
      }
    }
    responses: {
      /** @description The link as it is now. */
      200: {
        headers: {
          ETag: components['headers']['ETag']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Link']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      412: components['responses']['PreconditionFailed']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readClicks: {
    parameters: {
      query?: {
        /** @description How long a bucket is. */
        by?: 'hour' | 'day'
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
        /** @description By default 30 days before `to`. */
        from?: string
        /** @description By default now. */
        to?: string
      }
      path: {
        /** @description The code of a link. */
        code: string
      }
    }
    responses: {
      /** @description The clicks of that time. */
      200: {
        content: {
          'application/json': components['schemas']['Clicks']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readHits: {
    parameters: {
      query?: {
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
      }
      path: {
        /** @description The code of a link. */
        code: string
      }
    }
    responses: {
      /** @description The hits of this month. */
      200: {
        content: {
          'application/json': components['schemas']['Hits']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readLinkStats: {
    parameters: {
      query?: {
        /** @description How long a bucket of `series` is. */
        by?: 'hour' | 'day' | 'week' | 'month'
        /** @description Whose values `top` has. */
        dimension?:
          | 'referrer'
          | 'utm_source'
          | 'utm_medium'
          | 'utm_campaign'
          | 'country'
          | 'browser'
          | 'os'
          | 'device'
          | 'language'
          | 'bot'
          | 'target'
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
        /** @description By default 30 days before `to`. The hour that it falls into counts whole. */
        from?: string
        /** @description `top` by people, not by all visits. */
        people?: boolean
        /** @description By default now. */
        to?: string
        /** @description The time zone, by its IANA name, whose days, weeks (from Monday) and months `series` has. */
        tz?: string
      }
      path: {
        /** @description The code of a link. */
        code: string
      }
    }
    responses: {
      /** @description The figures. */
      200: {
        content: {
          'application/json': components['schemas']['Stats']
          'text/csv': string
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createLinks: {
    parameters: {
      query?: {
        /** @description With `return`, the newest plain link of the tenant to this URL is answered, if there is one, as it is: enabled, on this domain, with the tier's own end and hits, and nothing else that says when or where it leads. Of two such requests at the same moment one makes it. */
        onExisting?: 'return'
      }
      header?: {
        /** @description Makes it safe to repeat the request. Another body under the same key is 409. */
        'Idempotency-Key'?: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "links": [
         *         {
         *           "url": "https://example.org/spring",
         *           "code": "spring"
         *         },
         *         {
         *           "url": "https://example.org/summer"
         *         }
         *       ]
         *     }
         */
        'application/json': components['schemas']['NewLinks']
      }
    }
    responses: {
      /** @description What came of each. */
      200: {
        content: {
          'application/json': components['schemas']['LinksMade']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteLinks: {
    parameters: {
      query?: {
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "filter": {
         *         "state": "expired"
         *       }
         *     }
         */
        'application/json': components['schemas']['LinksToDelete']
      }
    }
    responses: {
      /** @description What came of each. */
      200: {
        content: {
          'application/json': components['schemas']['LinksDeleted']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  changeLinks: {
    parameters: {
      query?: {
        /** @description Whose code it is: a further domain's host; by default, PUBLIC_URL's. */
        domain?: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "codes": [
         *         "spring",
         *         "summer"
         *       ],
         *       "change": {
         *         "addTags": [
         *           "Sale"
         *         ],
         *         "enabled": true
         *       }
         *     }
         */
        'application/json': components['schemas']['LinksChange']
        /**
         * @example {
         *       "codes": [
         *         "spring",
         *         "summer"
         *       ],
         *       "change": {
         *         "addTags": [
         *           "Sale"
         *         ],
         *         "enabled": true
         *       }
         *     }
         */
        'application/merge-patch+json': components['schemas']['LinksChange']
      }
    }
    responses: {
      /** @description What came of each. */
      200: {
        content: {
          'application/json': components['schemas']['LinksChanged']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  exportLinks: {
    parameters: {
      query?: {
        /** @description Only those that were created then or later. */
        createdAfter?: string
        /** @description Only those that were created earlier. */
        createdBefore?: string
        /** @description Only those that were made by a key of this name. */
        createdBy?: string
        /** @description Of one domain; the default one by PUBLIC_URL's host. */
        domain?: string
        /** @description Only those that are, or are not. */
        enabled?: boolean
        /** @description `csv`: for spreadsheets, with the names of the fields in the first line. `ndjson`: for programs, a link in each line, as this API shows it. */
        format?: 'csv' | 'ndjson'
        /** @description A part of the code, of the first 500 characters of the URL, or of the title, without regard to case. On a database without pg_trgm, their beginning. */
        q?: string
        /** @description Only those that are in this state now. */
        state?: 'active' | 'scheduled' | 'expired' | 'disabled'
        /** @description Only those that have this tag. */
        tag?: string
        /** @description Whose links. Others than its own only the owner may list. */
        tenant?: string
        /** @description Only those that lead exactly there. */
        url?: string
      }
    }
    responses: {
      /** @description The links. */
      200: {
        content: {
          'application/x-ndjson': string
          'text/csv': string
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listMembers: {
    parameters: {
      query?: {
        /** @description Of this tenant: for the owner. */
        tenant?: string
      }
    }
    responses: {
      /** @description All of them. */
      200: {
        content: {
          'application/json': components['schemas']['Members']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createMember: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Ada",
         *       "role": "editor"
         *     }
         */
        'application/json': components['schemas']['NewMember']
      }
    }
    responses: {
      /** @description The member, and its link, this once. */
      201: {
        headers: {
          Location: components['headers']['Location']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['MemberOnce']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readMember: {
    parameters: {
      path: {
        /** @description The id of a member. */
        id: string
      }
    }
    responses: {
      /** @description The member. */
      200: {
        content: {
          'application/json': components['schemas']['Member']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteMember: {
    parameters: {
      path: {
        /** @description The id of a member. */
        id: string
      }
    }
    responses: {
      /** @description It is removed. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  changeMember: {
    parameters: {
      path: {
        /** @description The id of a member. */
        id: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "role": "viewer"
         *     }
         */
        'application/json': components['schemas']['MemberChange']
        /**
         * @example {
         *       "role": "viewer"
         *     }
         */
        'application/merge-patch+json': components['schemas']['MemberChange']
      }
    }
    responses: {
      /** @description The member as it is now. */
      200: {
        content: {
          'application/json': components['schemas']['Member']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  inviteMember: {
    parameters: {
      path: {
        /** @description The id of a member. */
        id: string
      }
    }
    responses: {
      /** @description The link, this once. */
      201: {
        content: {
          'application/json': components['schemas']['LinkOnce']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  syncQuotas: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description What was counted, of every tenant. */
      200: {
        content: {
          'application/json': components['schemas']['QuotaSyncs']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readSession: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description The session that asks. */
      200: {
        content: {
          'application/json': components['schemas']['Session']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  signIn: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "key": "ql_…"
         *     }
         */
        'application/json': components['schemas']['NewSession']
      }
    }
    responses: {
      /** @description The session; its cookie is set. */
      201: {
        headers: {
          'Set-Cookie': components['headers']['Set-Cookie']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Session']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  signOut: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description It has ended. */
      204: {
        headers: {
          'Set-Cookie': components['headers']['Set-Cookie']
          [name: string]: unknown
        }
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listSessions: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description Those that live. */
      200: {
        content: {
          'application/json': components['schemas']['Sessions']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  endSessions: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description They have ended. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  endSession: {
    parameters: {
      path: {
        /** @description The id of a session. */
        id: string
      }
    }
    responses: {
      /** @description It has ended. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readSignIn: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description The ways. */
      200: {
        content: {
          'application/json': components['schemas']['SignInWays']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createSignInLink: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description The link, this once. */
      201: {
        content: {
          'application/json': components['schemas']['LinkOnce']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readStats: {
    parameters: {
      query?: {
        /** @description How long a bucket of `series` is. */
        by?: 'hour' | 'day' | 'week' | 'month'
        /** @description Whose values `top` has. */
        dimension?:
          | 'referrer'
          | 'utm_source'
          | 'utm_medium'
          | 'utm_campaign'
          | 'country'
          | 'browser'
          | 'os'
          | 'device'
          | 'language'
          | 'bot'
          | 'target'
        /** @description By default 30 days before `to`. The hour that it falls into counts whole. */
        from?: string
        /** @description `top` by people, not by all visits. */
        people?: boolean
        /** @description Whose. Others than one's own only the owner may ask for. */
        tenant?: string
        /** @description By default now. */
        to?: string
        /** @description The time zone, by its IANA name, whose days, weeks (from Monday) and months `series` has. */
        tz?: string
      }
    }
    responses: {
      /** @description The figures. */
      200: {
        content: {
          'application/json': components['schemas']['Stats']
          'text/csv': string
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readSystem: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    responses: {
      /** @description The figures of this moment. */
      200: {
        content: {
          'application/json': components['schemas']['System']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listTags: {
    parameters: {
      query?: {
        /** @description `nextCursor` of the page before. It fits its own list only. */
        cursor?: string
        /** @description How many items a page has at most. */
        limit?: number
        /** @description Whose tags. Others than one's own only the owner may ask for. */
        tenant?: string
      }
    }
    responses: {
      /** @description A page of tags. */
      200: {
        content: {
          'application/json': components['schemas']['TagPage']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteTag: {
    parameters: {
      query?: {
        /** @description Whose tags. Others than one's own only the owner may ask for. */
        tenant?: string
      }
      path: {
        /** @description The name of a tag, in any case. */
        tag: string
      }
    }
    responses: {
      /** @description It is deleted. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  renameTag: {
    parameters: {
      query?: {
        /** @description Whose tags. Others than one's own only the owner may ask for. */
        tenant?: string
      }
      path: {
        /** @description The name of a tag, in any case. */
        tag: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "Summer"
         *     }
         */
        'application/json': components['schemas']['TagChange']
        /**
         * @example {
         *       "name": "Summer"
         *     }
         */
        'application/merge-patch+json': components['schemas']['TagChange']
      }
    }
    responses: {
      /** @description The tag as it is now. */
      200: {
        content: {
          'application/json': components['schemas']['Tag']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readTagStats: {
    parameters: {
      query?: {
        /** @description How long a bucket of `series` is. */
        by?: 'hour' | 'day' | 'week' | 'month'
        /** @description Whose values `top` has. */
        dimension?:
          | 'referrer'
          | 'utm_source'
          | 'utm_medium'
          | 'utm_campaign'
          | 'country'
          | 'browser'
          | 'os'
          | 'device'
          | 'language'
          | 'bot'
          | 'target'
        /** @description By default 30 days before `to`. The hour that it falls into counts whole. */
        from?: string
        /** @description `top` by people, not by all visits. */
        people?: boolean
        /** @description Whose. Others than one's own only the owner may ask for. */
        tenant?: string
        /** @description By default now. */
        to?: string
        /** @description The time zone, by its IANA name, whose days, weeks (from Monday) and months `series` has. */
        tz?: string
      }
      path: {
        /** @description The name of a tag, in any case. */
        tag: string
      }
    }
    responses: {
      /** @description The figures. */
      200: {
        content: {
          'application/json': components['schemas']['Stats']
          'text/csv': string
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listTenants: {
    parameters: {
      query?: {
        /** @description `nextCursor` of the page before. It fits its own list only. */
        cursor?: string
        /** @description How many items a page has at most. */
        limit?: number
      }
    }
    responses: {
      /** @description A page of tenants. */
      200: {
        content: {
          'application/json': components['schemas']['TenantPage']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createTenant: {
    parameters: {
      query?: never
      header?: never
      path?: never
      cookie?: never
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "id": "acme",
         *       "name": "Acme",
         *       "tier": "standard"
         *     }
         */
        'application/json': components['schemas']['NewTenant']
      }
    }
    responses: {
      /** @description The tenant. */
      201: {
        headers: {
          Location: components['headers']['Location']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['Tenant']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readTenant: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
      }
    }
    responses: {
      /** @description The tenant. */
      200: {
        content: {
          'application/json': components['schemas']['Tenant']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  deleteTenant: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
      }
    }
    responses: {
      /** @description It is deleted. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  changeTenant: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "tier": "plus"
         *     }
         */
        'application/json': components['schemas']['TenantChange']
        /**
         * @example {
         *       "tier": "plus"
         *     }
         */
        'application/merge-patch+json': components['schemas']['TenantChange']
      }
    }
    responses: {
      /** @description The tenant as it is now. */
      200: {
        content: {
          'application/json': components['schemas']['Tenant']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  listKeys: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
      }
    }
    responses: {
      /** @description The keys. */
      200: {
        content: {
          'application/json': components['schemas']['Keys']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  createKey: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
      }
    }
    requestBody: {
      content: {
        /**
         * @example {
         *       "name": "their server"
         *     }
         */
        'application/json': components['schemas']['NewKey']
      }
    }
    responses: {
      /** @description The key. Nobody can show it again. */
      201: {
        headers: {
          Location: components['headers']['Location']
          [name: string]: unknown
        }
        content: {
          'application/json': components['schemas']['KeyOnce']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      413: components['responses']['TooLarge']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readKey: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
        /** @description The id of a key, which is not the key. */
        keyId: string
      }
    }
    responses: {
      /** @description The key. */
      200: {
        content: {
          'application/json': components['schemas']['Key']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  revokeKey: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
        /** @description The id of a key, which is not the key. */
        keyId: string
      }
    }
    responses: {
      /** @description It is revoked. */
      204: {
        content?: never
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      409: components['responses']['Conflict']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  readTenantLimits: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
      }
    }
    responses: {
      /** @description That tenant. */
      200: {
        content: {
          'application/json': components['schemas']['Usage']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  syncQuota: {
    parameters: {
      path: {
        /** @description The id of a tenant. */
        id: string
      }
    }
    responses: {
      /** @description What was counted. */
      200: {
        content: {
          'application/json': components['schemas']['QuotaSync']
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      404: components['responses']['NotFound']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
  exportVisits: {
    parameters: {
      query?: {
        /** @description Hours are there for 90 days. Of days that are older than two years the months are told. */
        by?: 'hour' | 'day'
        /** @description By default 30 days before `to`. */
        from?: string
        /** @description Whose. Others than one's own only the owner may ask for. */
        tenant?: string
        /** @description By default now. */
        to?: string
      }
    }
    responses: {
      /** @description The figures. */
      200: {
        content: {
          'application/x-ndjson': string
        }
      }
      400: components['responses']['Invalid']
      401: components['responses']['Unauthorized']
      403: components['responses']['Forbidden']
      429: components['responses']['RateLimited']
      500: components['responses']['Internal']
      503: components['responses']['Unavailable']
    }
  }
}
