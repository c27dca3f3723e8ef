/**
 * The real vLLM-Omni scheduler on a CPU, steered by a real controller, without a GPU: a burst of speech requests, then short text
 * requests behind it. Prints how long both kinds wait for admission, without and with the controller, in virtual time.
 *
 *     npx tsx examples/vllm-omni/main.ts [--quick]
 *
 * Installs vLLM and vLLM-Omni 0.30.0 into .venv/engine on the first run (about 1 GB), and says so where it cannot.
 */
import { spawn, spawnSync } from 'node:child_process'
import { installEngine } from '../../test/engine/install.js'

const installed = installEngine((text) => console.log(text))
if ('missing' in installed) {
  console.log(`left out: ${installed.missing}`)
} else {
  const segment = `example-${process.pid}`
  const controller = spawn(
    process.execPath,
    [
      '--import',
      'tsx',
      'src/cli/main.ts',
      'run',
      '--config',
      'examples/vllm-omni/horizon.yaml',
      '--segment',
      segment,
      '--wait',
      '--log',
      'warn',
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  const { status } = spawnSync(
    installed.python,
    ['examples/vllm-omni/burst.py', ...process.argv.slice(2)],
    {
      // The engine's own log would drown the four lines; what fails is worth its noise.
      stdio: ['ignore', 'inherit', process.env.EXAMPLE_STDERR === undefined ? 'ignore' : 'inherit'],
      env: { ...process.env, HORIZONSERVE_SEGMENT: segment },
    },
  )
  controller.kill('SIGTERM')
  process.exitCode = status ?? 1
}
