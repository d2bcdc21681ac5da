import type { Settings } from '../config/settings.ts';
import { misconfigured } from '../domain/errors.ts';
import { ClosingStack } from '../lib/closing-stack.ts';
import type { Surroundings } from '../lib/surroundings.ts';
import { type CopyOptions, type CopyResult, copyTiles } from '../storage/copy-tiles.ts';
import { openCache } from './open-cache.ts';

export type Migration = Omit<CopyOptions, 'from' | 'to'> & { readonly from: string; readonly to: string };

/** Copies the tiles of one store into another, by their names. A server may use both meanwhile. */
export async function migrateStore(
  settings: Settings,
  { from, to, ...order }: Migration,
  tools: Surroundings,
): Promise<CopyResult> {
  for (const name of [from, to]) checkStoreName(name, settings);
  if (from === to) throw misconfigured(`${from} cannot be copied into itself.`);
  const open = new ClosingStack();
  try {
    const { stores } = await openCache(settings, { ...tools, readOnly: false }, open);
    const [source, target] = [stores.get(from), stores.get(to)];
    if (!source || !target) throw misconfigured(`The stores ${from} and ${to} are not open.`);
    return await copyTiles({ ...order, from: source, to: target });
  } finally {
    await open.close();
  }
}

function checkStoreName(name: string, { stores }: Settings): void {
  const store = stores[name];
  if (!store) throw misconfigured(`There is no store ${name}; there are ${Object.keys(stores).join(', ')}.`);
  if (store.type === 'memory')
    throw misconfigured(`The store ${name} is in the memory of a server; it cannot be copied.`);
}
