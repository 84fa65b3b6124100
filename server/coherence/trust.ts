// A process trusts the Redis it talks to only while it has itself just made that Redis fresh: over this very connection,
// by a pass that began less than `trustMs` ago. A new connection is therefore untrusted until its first pass, and a
// restart from an old snapshot, a failover to a lagging replica or a split brain need no protocol of their own.

export class Trust {
  readonly #trustMs: number
  readonly #nowMs: () => number
  #connection = -1
  #beganMs = -Infinity

  constructor(trustMs: number, nowMs: () => number) {
    this.#trustMs = trustMs
    this.#nowMs = nowMs
  }

  renew(connection: number, beganMs: number): void {
    this.#connection = connection
    this.#beganMs = beganMs
  }

  revoke(): void {
    this.#beganMs = -Infinity
  }

  holds(connection: number): boolean {
    return connection === this.#connection && this.#nowMs() - this.#beganMs < this.#trustMs
  }

  ageS(): number {
    // Never trusted: since the process began, which is when this clock does.
    return Math.min(this.#nowMs(), this.#nowMs() - this.#beganMs) / 1000
  }
}
