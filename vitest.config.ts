import { defineConfig } from 'vitest/config';

const measuring = [
  'test/security/{hostile-bodies,login-flood,mutated-requests,slow-connections}.test.ts',
  'test/faults/**/*.test.ts',
];

export default defineConfig({
  test: {
    testTimeout: 30_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Tests run from the sources, and what is written for WebAssembly has to be compiled.
    globalSetup: './scripts/pixels-for-tests.mjs',
    // Threads and child processes that a test starts run from the sources too.
    execArgv: ['--import', new URL('./scripts/typescript/register.mjs', import.meta.url).href],
    projects: [
      group(0, { name: 'rooms', include: ['src/**/*.test.ts'], maxWorkers: 2 }),
      group(1, {
        name: 'house',
        include: ['test/**/*.test.ts'],
        exclude: measuring,
        maxWorkers: 2,
        // Whole servers with their workers, two tests at a time.
        testTimeout: 90_000,
      }),
      // What measures or kills runs with nothing beside it.
      group(2, { name: 'alone', include: measuring, maxWorkers: 1 }),
    ],
  },
});

function group(
  groupOrder: number,
  test: {
    name: string;
    include: string[];
    exclude?: string[];
    maxWorkers: number;
    testTimeout?: number;
  },
) {
  return { extends: true as const, test: { ...test, sequence: { groupOrder } } };
}
