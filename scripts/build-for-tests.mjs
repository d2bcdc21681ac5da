// Runs before vitest's tests: they start servers and threads from the build, and run the rest from the sources.
import { ensureBuilt } from './build.mjs';
import { ensurePixels } from './pixels.mjs';

export async function setup() {
  await ensureBuilt();
  await ensurePixels();
}
