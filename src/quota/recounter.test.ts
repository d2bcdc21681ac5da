import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { type LogEntry, recordingLogger } from '../../test/fixtures/http-app.ts';
import { openQuotaFixture } from '../../test/fixtures/quota-fixture.ts';
import { systemClock } from '../lib/clock.ts';
import { Ledger } from './ledger.ts';
import { Recounter } from './recounter.ts';

it('a recount finds wrong statistics, mends them, and reports a bug', async () => {
  const fixture = await openQuotaFixture();
  onTestFinished(() => fixture.close());
  for (const x of [0, 1, 40]) await fixture.put(fixture.set('a'), 9, x, 0, 1000);
  const file = readdirSync(fixture.folder, { recursive: true, encoding: 'utf8' }).find((name) =>
    /9\/0_0\/.*\.sqlite$/.test(name),
  );
  const bundle = new Sqlite(join(fixture.folder, file ?? ''));
  bundle.exec('UPDATE page SET tiles = tiles + 5, bytes = bytes - 700 WHERE page = 0');
  bundle.close();

  const entries: LogEntry[] = [];
  const log = recordingLogger(entries);
  const ledger = new Ledger({ stores: fixture.stores, clock: systemClock });
  await ledger.refresh();
  const recounter = new Recounter({ stores: fixture.stores, ledger, clock: systemClock, log, interval: 20 });
  const over = new AbortController();
  const running = recounter.run(over.signal);
  onTestFinished(async () => {
    over.abort();
    await running;
  });
  await expect.poll(() => recounter.drift).toEqual({ tiles: 5, bytes: 700 });
  expect(entries.filter(({ level }) => level === 'error')).toHaveLength(1);

  const pages: number[][] = [];
  for await (const { pageX, tiles, bytes } of fixture.store.pages(fixture.set('a')))
    pages.push([pageX, tiles, bytes]);
  expect(pages).toEqual([
    [0, 2, 2000],
    [2, 1, 1000],
  ]);
  await systemClock.sleep(100);
  expect(recounter.drift).toEqual({ tiles: 5, bytes: 700 });
});
