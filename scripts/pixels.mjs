// Compiles packages/pixels/wasm to packages/pixels/pixels.wasm, where tests from the sources and the bundle find it.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode, StepError, tool } from './steps.mjs';

const sources = join(root, 'packages', 'pixels', 'wasm');
export const pixelsFile = join(root, 'packages', 'pixels', 'pixels.wasm');

/** The compiler is itself WebAssembly: V8 would spend more on optimising it than it saves. */
const COMPILED_ONCE = '--liftoff-only';

/** Does nothing when the file is newer than all it is made from. */
export async function ensurePixels() {
  const made = existsSync(pixelsFile) ? statSync(pixelsFile).mtimeMs : 0;
  const changed = readdirSync(sources).map((name) => statSync(join(sources, name)).mtimeMs);
  if (made > Math.max(...changed)) return;
  const options = [
    '-O3',
    '--noAssert',
    '--runtime',
    'stub',
    '--enable',
    'simd',
    '--use',
    'abort=',
    '--disableWarning',
    '112',
  ];
  const { ok, output } = await runNode(
    [COMPILED_ONCE, tool('assemblyscript', 'asc'), join(sources, 'pixels.ts'), '-o', pixelsFile, ...options],
    { quiet: true },
  );
  if (!ok) throw new StepError(`The pixel work could not be compiled:\n${output}`);
}
