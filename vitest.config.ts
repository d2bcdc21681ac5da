import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { WAIT_TIMEOUT_MS } from './test/fixtures/eventually.ts';

/** The scanners measure processor time: in a process without the garbage of other files. Whole servers come before rooms. */
const ORDER = [/\/test\/security\/scanners\./, /\/test\//, /^/];

class InOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => ORDER.findIndex((room) => room.test(moduleId));
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

/** V8 has no such flag after Node.js 20, and refuses unknown ones. */
function optimiseLater(): string[] {
  return process.versions.node.startsWith('20.') ? ['--interrupt-budget=1000000'] : [];
}

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'packages/**/*.test.ts', 'test/**/*.test.ts'],
    // See npm run test:qgis and npm run test:mapproxy.
    exclude: [
      ...configDefaults.exclude,
      ...(process.env.TEST_QGIS ? [] : ['test/qgis/**']),
      ...(process.env.TEST_MAPPROXY ? [] : ['test/peers/**']),
    ],
    // Notices what hangs. Slowness is no fault: other programs may want the same processors. A test has several waits of
    // WAIT_TIMEOUT_MS, and the first that asks for PostgreSQL, S3 or the browser waits for its start too.
    testTimeout: process.env.TEST_LENGTH === 'long' ? 7_200_000 : 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: WAIT_TIMEOUT_MS } },
    pool: 'forks',
    // Two more than processors, because many tests mostly wait. Each one more loads all modules again.
    maxWorkers: Math.min(10, availableParallelism() + 2),
    // The files of a run share a few processes, and with them everything that has been loaded.
    isolate: false,
    alias: [
      {
        find: /^[./]+\/lib\/spawn-thread\.ts$/,
        replacement: fileURLToPath(new URL('./test/fixtures/spawn-built-thread.ts', import.meta.url)),
      },
    ],
    // Most code runs a few times only: V8 optimises it later than by default. It collects short-lived objects, above all
    // pictures, less often. Each takes a twentieth less processor.
    execArgv: [...optimiseLater(), '--min-semi-space-size=32', '--max-semi-space-size=64'],
    setupFiles: ['test/fixtures/each-file.ts'],
    globalSetup: ['scripts/test-run.mjs', 'test/fixtures/shared-services-host.ts'],
    sequence: { sequencer: InOrder },
  },
});
