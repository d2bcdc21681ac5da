import { expect, it } from 'vitest';
import { derive } from './derive.ts';
import { createMemoryStore } from './segments/memory-store.ts';

const set = { layer: 'roads', gridSet: 'EPSG:4326', format: 'image/png', parametersId: null };

it('a zoom may have more tiles than a function takes arguments', async () => {
  const of = { z: 20, y: 0, bytes: 1, createdAt: 1, freshUntil: null, validator: null, hidden: false };
  const tiles = Array.from({ length: 130_000 }, (_, x) => ({ ...of, x }));
  const { get, putMany, edit, tileSets, ticket, ...rest } = createMemoryStore({ type: 'memory' });
  const { raiseGeneration, openMarks, closeMark, close } = rest;
  const order = { ticket, raiseGeneration, openMarks, closeMark };
  async function* list() {
    yield tiles;
  }
  const store = derive({ get, putMany, list, edit, tileSets, ...order, close });
  const rect = { minX: 0, minY: 0, maxX: tiles.length, maxY: 0 };
  expect((await store.present(set, 20, rect, 0)).length).toBe(tiles.length);
});
