import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { inLength } from '../fixtures/length.ts';
import { runLedgerLoop } from './ledger-loop.ts';

const KILLS = inLength(2, 1000);

it('a store whose process is killed repeatedly counts exactly and brings no old tile back', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tilewarden-ledger-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const report = await runLedgerLoop(folder, KILLS);
  expect(report).toMatchObject({ drift: 0, resurrected: 0 });
  expect(report.tilesChecked).toBeGreaterThan(0);
  expect(report.evicted).toBeGreaterThan(0);
});
