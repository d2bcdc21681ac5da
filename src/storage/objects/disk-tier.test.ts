import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { eventually } from '../../../test/fixtures/eventually.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { createMemoryStore } from '../segments/memory-store.ts';
import { DiskTier } from './disk-tier.ts';

const set = { layer: 'roads', gridSet: 'EPSG:900913', format: 'image/png', parametersId: null };

it('a copy that is replaced while it is read counts only by its own moment', async () => {
  const memory = createMemoryStore({ type: 'memory' });
  const copies = { ...memory };
  const tier = new DiskTier({ copies, size: 1e9, clock: systemClock, log: silentLogger });
  const keep = async (text: string, object: number) => {
    const bytes = Buffer.from(text);
    const making = { createdAt: object, freshUntil: null, madeBy: null, validator: null, ticket: 0 };
    const place = { segment: object, offset: 0, length: bytes.length };
    const tile = { x: 1, y: 2, slot: 0, checksum: crc32(bytes), ...place, making };
    tier.keep(set, 3, [{ tile, bytes }], tier.moment);
    const copy = () => memory.get(set, { z: 3, x: 1, y: 2 });
    await eventually('it is copied', copy, (found) => found?.madeBy === object);
  };
  await keep('before', 1);
  tier.forget([{ kind: 'layer', layer: 'roads' }]);
  copies.list = async function* (...place) {
    await keep('after', 2);
    yield* memory.list(...place);
  };
  expect((await tier.getWithoutIndex(set, 3, 1, 2))?.bytes.toString()).toBe('after');
  await tier.close();
});
