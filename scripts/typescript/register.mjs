/**
 * Lets Node run the project's TypeScript as it is: `node --import ./scripts/typescript/register.mjs file.ts`.
 * Threads and child processes inherit the flag, so that tests start ours from their sources. The server never needs it.
 */
import { register } from 'node:module';

register('./hooks.mjs', import.meta.url);
