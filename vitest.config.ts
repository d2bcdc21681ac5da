import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Threads and child processes that a test starts run from the sources too.
    execArgv: ['--import', new URL('./scripts/typescript/register.mjs', import.meta.url).href],
  },
});
