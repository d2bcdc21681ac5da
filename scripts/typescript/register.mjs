/**
 * Lets Node run the project's TypeScript as it is: `node --import ./scripts/typescript/register.mjs file.ts`, for
 * benchmarks and processes of tests. The server never needs it.
 */
import { register } from 'node:module';

register('./hooks.mjs', import.meta.url);
