/**
 * Lets Node.js run the project's TypeScript without a build: `node --import ./scripts/typescript/register.mjs file.ts`.
 * For benchmarks and processes of tests; the server never needs it.
 */
import * as module from 'node:module';

if (module.registerHooks) {
  const { load } = await import('./hooks.mjs');
  module.registerHooks({ load });
} else {
  // For Node.js 20, and 22 before 22.15. Newer versions warn that `register` is deprecated.
  module.register('./hooks.mjs', import.meta.url);
}
