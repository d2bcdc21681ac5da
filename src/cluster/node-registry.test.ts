import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../test/fixtures/eventually.ts';
import { createPostgresDatabase } from '../../test/fixtures/shared-services.ts';
import { temporaryFolder, whenOver } from '../../test/fixtures/when-over.ts';
import { openDatabase } from '../db/open-database.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { openNodeRegistry } from './node-registry.ts';

const quiet = { clock: systemClock, log: silentLogger };

async function join(location: string, name: string, roles: readonly ('serve' | 'worker')[]) {
  const database = await openDatabase({ location, ...quiet });
  const self = { name, roles, version: '1.0' };
  const registry = await openNodeRegistry({ database, instance: randomUUID(), self, ...quiet });
  const leave = async () => {
    await registry.close();
    await database.close();
  };
  whenOver(leave);
  return { registry, database, leave };
}

describe('nodes that share a PostgreSQL', () => {
  it('nodes that share a PostgreSQL list each other, their roles, their addresses and their leader', async () => {
    const location = await createPostgresDatabase();
    const a = await join(location, 'a', ['serve']);
    const b = await join(location, 'b', ['worker']);
    await a.registry.listening('a', 'http://127.0.0.1:8080/');
    b.registry.leads(true);
    const nodes = await eventually(
      'b is seen to lead',
      () => a.registry.list(),
      (list) => list.some(({ leader }) => leader),
    );
    expect(nodes).toMatchObject([
      { name: 'a', roles: ['serve'], version: '1.0', leader: false, address: 'http://127.0.0.1:8080/' },
      { name: 'b', roles: ['worker'], version: '1.0', leader: true, address: null },
    ]);
    a.registry.leads(true);
    const after = await eventually(
      'a is seen to lead',
      () => b.registry.list(),
      (list) => list[0]?.leader === true,
    );
    expect(after.map(({ leader }) => leader)).toEqual([true, false]);
    await b.leave();
    expect((await a.registry.list()).map(({ name }) => name)).toEqual(['a']);
  });

  it('nodes that share a PostgreSQL do not list one that left while it was about to announce that it leads', async () => {
    const location = await createPostgresDatabase();
    const a = await join(location, 'a', ['serve']);
    const b = await join(location, 'b', ['serve']);
    b.registry.leads(true);
    await b.leave();
    expect((await a.registry.list()).map(({ name }) => name)).toEqual(['a']);
  });

  it('nodes that share a PostgreSQL show a vanished one with the time it was last seen, not as the leader', async () => {
    const location = await createPostgresDatabase();
    const a = await join(location, 'a', ['serve']);
    const seenAt = (await a.database.now()) - 16_000;
    const gone = { instance: 'x', name: 'gone', roles: '["serve"]', version: '1.0', address: null };
    await a.database.transaction('nodes', (query) =>
      query
        .insertInto('nodes')
        .values({ ...gone, started_at: 0, seen_at: seenAt, leader: 1, applied_at: 0, applied: 0 })
        .execute(),
    );
    expect((await a.registry.list())[1]).toMatchObject({ name: 'gone', seenAt, leader: false });
  });

  it('a node that was suspended until the others had removed it is waited for as soon as it shows copies', async () => {
    const location = await createPostgresDatabase();
    const a = await join(location, 'a', ['serve']);
    const b = await join(location, 'b', ['serve']);
    await a.registry.changesApplied(5);
    await b.database.change.deleteFrom('nodes').where('name', '=', 'a').execute();
    expect(await b.registry.changesAppliedByOthers(1000)).toEqual([]);
    await a.registry.changesApplied(7);
    expect(await b.registry.changesAppliedByOthers(1000)).toEqual([7]);
  });
});

it('a server with a database of its own is the only node, and leads', async () => {
  const { registry } = await join(`${temporaryFolder()}/tilewarden.db`, 'alone', ['serve', 'worker']);
  await registry.listening('alone:80', 'http://127.0.0.1:80/');
  expect(await registry.list()).toMatchObject([
    { name: 'alone:80', roles: ['serve', 'worker'], leader: true, address: 'http://127.0.0.1:80/' },
  ]);
});
