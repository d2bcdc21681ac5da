import { defineConfig } from 'vitest/config';
import common from '../../vitest.config.ts';

export default defineConfig({
  ...common,
  test: {
    ...common.test,
    include: ['test/failing/*-*.ts'],
    maxWorkers: 1,
    // Failures on purpose leave no logs, and use the services of the run that tries them.
    setupFiles: [],
    globalSetup: [],
    provide: { sharedServices: process.env.TEST_SERVICES ?? '' },
  },
});
