import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { behavesAsTileStore } from '../../../test/contracts/tile-store.ts';
import { inLength } from '../../../test/fixtures/length.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { schemaKit } from '../../lib/schemas.ts';
import { openBundleStore } from './bundle-store.ts';
import { bundleStoreOptions } from './bundle-store-options.ts';

const folder = mkdtempSync(join(tmpdir(), 'bundle-store-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = bundleStoreOptions(schemaKit).parse({ type: 'bundle' });
const open = (root: string) => openBundleStore(options, { root, log: silentLogger, clock: systemClock });

describe('a bundle store', () => {
  behavesAsTileStore({ open: () => open(mkdtempSync(join(folder, 'root-'))), modelRuns: inLength(15, 200) });
});
