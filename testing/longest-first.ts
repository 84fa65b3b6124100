// Which test files are begun first. Two cores have little else to do while the last long one goes on, and a
// fresh clone has no times of an earlier run, by which Vitest would order them.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Those of a minute and more, the longest first. One that is missing here costs time, no more. */
const long = [
  'loadtest/drills/engine/safety.integration.test.ts',
  'embedded/up.integration.test.ts',
  'server/coherence/restored-database.integration.test.ts',
  'server/coherence/redis-disasters.integration.test.ts',
  'server/links/shortcode.integration.test.ts',
  'server/coherence/coherence.model.test.ts',
  'loadtest/bench/ended.integration.test.ts',
  'contract/special-links.test.ts',
  'cli/quicklink.integration.test.ts',
  'server/coherence/standby.integration.test.ts',
  'server/app.integration.test.ts',
  'embedded/restore.integration.test.ts',
]

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = long.findIndex((name) => moduleId.endsWith(`/${name}`))
      return at === -1 ? long.length : at
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}
