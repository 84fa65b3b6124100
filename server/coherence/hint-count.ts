// How many `ql:v1:404:*` keys there are, without counting them: their share of one page of SCAN (about 1,000 keys; keys
// lie in it in the order of their hashes, so a page is a fair sample) times the number of all keys.
import type { RedisConnection } from '../connections/redis.ts'

export async function estimateHints(redis: RedisConnection): Promise<number> {
  const [total, sample] = await Promise.all([redis.countKeys(), redis.sampleKeys()])
  if (sample.length === 0) return 0
  const hints = sample.filter((key) => key.startsWith('ql:') && key.includes(':404:')).length
  return Math.round((hints / sample.length) * Math.max(total, sample.length))
}
