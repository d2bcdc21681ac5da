import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { BundleIndex } from './bundle-index.ts';
import { bundleLayout } from './bundle-layout.ts';

it('the bundle index lists open bundles some at a time, each once, however many a truncation leaves', () => {
  const root = mkdtempSync(join(tmpdir(), 'tilewarden-index-'));
  whenOver(() => rmSync(root, { recursive: true, force: true }));
  const layout = bundleLayout(root);
  mkdirSync(layout.making);
  const index = new BundleIndex(layout, 0);
  whenOver(() => index.close());
  const ids = Array.from({ length: 1201 }, (_, at) => `roads/set/5/${at}_0`);
  for (const id of ids) index.opened(`${layout.layers}/${id}`);
  const listed: string[] = [];
  for (let rows = index.openAfter(0); rows.length > 0; rows = index.openAfter(rows.at(-1)?.row ?? 0)) {
    expect(rows.length).toBeLessThanOrEqual(500);
    listed.push(...rows.map(({ id }) => id));
  }
  expect(listed.toSorted()).toEqual(ids.toSorted());
});
