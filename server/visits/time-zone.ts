// Names of time zones, as the IANA has them: those that mean the same to this process and to Postgres. `+01:00` does not.
import { z } from 'zod'

const mustBe = 'must be the name of a time zone, like UTC or Europe/Berlin'

export const timeZoneSchema = z
  .string(mustBe)
  .regex(/^(UTC|[A-Z][A-Za-z_]{1,30}(\/[A-Z][A-Za-z0-9_+-]{1,30}){1,2})$/, mustBe)
  .refine(isKnown, mustBe)

function isKnown(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
