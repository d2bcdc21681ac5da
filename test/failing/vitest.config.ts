import { defineConfig } from 'vitest/config';
import common from '../../vitest.config.ts';

export default defineConfig({
  ...common,
  // Without setup files: failures on purpose leave no logs.
  test: { ...common.test, include: ['test/failing/*-*.ts'], setupFiles: [], maxWorkers: 1 },
});
