import { describe, expect, it } from 'vitest';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { whenOver } from '../../test/fixtures/when-over.ts';
import type { Database } from '../db/database.ts';
import { openDatabase } from '../db/open-database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { allot, createHostShares } from './host-shares.ts';

const HOST = 'maps.example.org';
const WISH = { limit: 4, wanted: 4, urgent: 0, spare: 0, held: 0 };

async function open(): Promise<Database> {
  const location = await createPostgresDatabase();
  const database = await openDatabase({ location, clock: systemClock, log: silentLogger });
  whenOver(() => database.close());
  return database;
}

describe('places of a limit', () => {
  const shares = (wants: readonly number[], limit: number, turn = 0) => [
    ...allot(
      wants.map((wanted, i) => ({ instance: String(i), wanted, urgent: 0 })),
      limit,
      turn,
    ).values(),
  ];

  it('places of a limit go to each node as wanted while there are enough, else in equal parts', () => {
    expect(shares([2, 3, 0], 8)).toEqual([2, 3, 0]);
    expect(shares([9, 9], 8)).toEqual([4, 4]);
    expect(shares([1, 9, 9], 9)).toEqual([1, 4, 4]);
  });

  it('places of a limit go to one node after the other when there are fewer than nodes', () => {
    const turns = [0, 1, 2].map((turn) => shares([5, 5, 5], 1, turn));
    expect(turns).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]);
  });

  it('places of a limit go first to nodes where people wait, and last to those that need none now', () => {
    const claim = { wanted: 9, urgent: 0 };
    const of = (...claims: Parameters<typeof allot>[0]) => [...allot(claims, 4, 0).values()];
    expect(of({ ...claim, instance: 'a' }, { wanted: 2, urgent: 2, instance: 'b' })).toEqual([2, 2]);
    expect(of({ ...claim, instance: 'a' }, { wanted: 9, urgent: 9, instance: 'b' })).toEqual([0, 4]);
    expect(of({ ...claim, instance: 'a' }, { wanted: 0, urgent: 0, spare: 1, instance: 'b' })).toEqual([
      4, 0,
    ]);
    expect(
      of({ ...claim, wanted: 1, instance: 'a' }, { wanted: 0, urgent: 0, spare: 1, instance: 'b' }),
    ).toEqual([1, 1]);
  });

  it('places of a limit never add up to more than it, whatever nodes request concurrently', async () => {
    const database = await open();
    const nodes = ['a', 'b', 'c', 'd'].map((name) => createHostShares(database, name));
    const held = [0, 0, 0, 0];
    for (let round = 0; round < 12; round++) {
      const wishes = nodes.map((_, i) => (round * (i + 3) * 7) % 11);
      const granted = await Promise.all(
        nodes.map((node, i) =>
          node.renew(HOST, { ...WISH, limit: 7, wanted: wishes[i] ?? 0, held: held[i] ?? 0 }),
        ),
      );
      for (const [i, { places }] of granted.entries()) held[i] = Math.min(places, wishes[i] ?? 0);
      const rows = await database.query.selectFrom('node_shares').select('places').execute();
      expect(rows.reduce((sum, { places }) => sum + places, 0)).toBeLessThanOrEqual(7);
    }
  });

  it('places of a node that is gone are for the others when its lease has expired', async () => {
    const database = await open();
    const [gone, other] = [createHostShares(database, 'a'), createHostShares(database, 'b')];
    const wish = WISH;
    expect(await gone.renew(HOST, wish)).toEqual({ places: 4, alone: true });
    expect(await other.renew(HOST, wish)).toEqual({ places: 0, alone: false });
    await database.transaction(null, (query) =>
      query.updateTable('node_shares').set({ expires_at: 1 }).where('instance', '=', 'a').execute(),
    );
    expect(await other.renew(HOST, wish)).toEqual({ places: 4, alone: true });
  });

  it('places of a limit that are not in use are given up when another node wants some', async () => {
    const database = await open();
    const [first, other] = [createHostShares(database, 'a'), createHostShares(database, 'b')];
    await first.renew(HOST, WISH);
    await other.renew(HOST, WISH);
    expect((await first.renew(HOST, { ...WISH, held: 3 })).places).toBe(2);
    expect((await other.renew(HOST, WISH)).places).toBe(1);
    expect((await first.renew(HOST, { ...WISH, held: 1 })).places).toBe(2);
    expect((await other.renew(HOST, { ...WISH, held: 1 })).places).toBe(2);
  });
});
