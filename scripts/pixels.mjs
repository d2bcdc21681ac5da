// Compiles packages/pixels/wasm to packages/pixels/pixels.wasm, where tests from the sources and the bundle find it.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode, StepError, tool } from './steps.mjs';

const sources = join(root, 'packages', 'pixels', 'wasm');
export const pixelsFile = join(root, 'packages', 'pixels', 'pixels.wasm');

/** The compiler is WebAssembly itself, and runs too briefly for V8's optimisation of it to pay. */
const NO_OPTIMISING = '--liftoff-only';

/** Compiles unless the file is newer than its sources. */
export async function ensurePixels() {
  const compiledAt = existsSync(pixelsFile) ? statSync(pixelsFile).mtimeMs : 0;
  const changedAt = readdirSync(sources).map((name) => statSync(join(sources, name)).mtimeMs);
  if (compiledAt > Math.max(...changedAt)) return;
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
    [NO_OPTIMISING, tool('assemblyscript', 'asc'), join(sources, 'pixels.ts'), '-o', pixelsFile, ...options],
    { quiet: true },
  );
  if (!ok) throw new StepError(`The pixel work could not be compiled:\n${output}`);
}
