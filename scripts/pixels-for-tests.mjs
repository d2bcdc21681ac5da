// What vitest does before the tests.
export { ensurePixels as setup } from './pixels.mjs';
