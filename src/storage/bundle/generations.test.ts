import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../test/e2e/server.ts';
import { whenOver } from '../../../test/fixtures/when-over.ts';
import { bundleLayout } from './bundle-layout.ts';
import { openGenerations } from './generations.ts';

it('a raised generation is synced before it is acknowledged', () => {
  const root = temporaryFolder();
  whenOver(() => rmSync(root, { recursive: true, force: true }));
  const layout = bundleLayout(root);
  const pragma = vi.spyOn(Database.prototype, 'pragma');
  whenOver(() => pragma.mockRestore());
  const generations = openGenerations(layout, 1000);
  whenOver(() => generations.close());
  const databases = pragma.mock.contexts as Database.Database[];
  const own = databases.find(({ name, open }) => open && name === layout.generations);
  const [FULL, modes] = [2, ['delete', 'persist', 'truncate']];
  expect(own?.pragma('synchronous', { simple: true })).toBe(FULL);
  expect(modes).toContain(own?.pragma('journal_mode', { simple: true }));
});
