/**
 * Lets Node run the project's TypeScript as it is: `node --import ./scripts/typescript/register.mjs file.ts`, for
 * benchmarks and processes of tests. The server never needs it.
 */
import * as module from 'node:module';

if (module.registerHooks) {
  const { load } = await import('./hooks.mjs');
  module.registerHooks({ load });
} else {
  // Node.js 20, and 22 before 22.15. Newer versions warn of it.
  module.register('./hooks.mjs', import.meta.url);
}
