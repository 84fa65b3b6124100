// The profile `load`: the k6 of the compose file loads the appliance from inside its network, and Prometheus hears of it.
import { spawn } from 'node:child_process'
import { projectDir } from '../../embedded/paths.ts'
import { compose } from '../compose.ts'
import { loadPanelsAnswer } from './monitoring.ts'
import { check, step } from './steps.ts'

/** `make load NAME=steady SHORT=yes K6=docker`. */
function steady(): Promise<string> {
  return new Promise((resolve) => {
    const env = { ...process.env, NAME: 'steady', SHORT: 'yes', K6: 'docker', RATE: '100', DATASET: '2000' }
    const child = spawn(process.execPath, ['loadtest/load/load.ts'], { cwd: projectDir, env })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
    child.once('close', () => resolve(text))
  })
}

export async function isLoaded(): Promise<void> {
  const { code } = await compose(['--profile=load', 'run', '--rm', '--no-deps', '--no-TTY', '--quiet-pull', 'k6', 'version']) // prettier-ignore
  if (code !== 0) {
    console.log('skipped the profile `load`: there is no image of k6 (with `make k6`, .ci/stand-ins.sh builds one)')
    return
  }
  await step("the load profile's k6 runs `steady` against the appliance, every redirect right", async () => {
    const text = await steady()
    // How fast it was says nothing on a machine that does everything else at the same time.
    for (const kind of ['wrong', 'failed']) check(text.includes(`ok     baseline: ${kind} answers: 0 (0)`), text)
    return text.split('\n').find((line) => line.includes('p99 of visitors'))?.trim() // prettier-ignore
  })
  await step("k6's figures are in Prometheus, and the panels that show them have data", loadPanelsAnswer)
}
