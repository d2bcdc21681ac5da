import type { Settings } from '../config/settings.ts';
import { TilewardenError } from '../domain/errors.ts';
import type { Clock } from '../lib/clock.ts';
import { ClosingStack } from '../lib/closing-stack.ts';
import type { Logger } from '../lib/logger.ts';
import { type CopyOptions, type CopyResult, copyTiles } from '../storage/copy-tiles.ts';
import { openCache } from './open-cache.ts';

export type Migration = Omit<CopyOptions, 'from' | 'to'> & { readonly from: string; readonly to: string };

/** Copies the tiles of one store into another, by their names. A server may use both meanwhile. */
export async function migrateStore(
  settings: Settings,
  { from, to, ...order }: Migration,
  tools: { readonly log: Logger; readonly clock: Clock },
): Promise<CopyResult> {
  for (const name of [from, to]) checkStoreName(name, settings);
  if (from === to) throw invalid(`${from} cannot be copied into itself.`);
  const open = new ClosingStack();
  try {
    const { stores } = await openCache(settings, { ...tools, readOnly: false }, open);
    const [source, target] = [stores.get(from), stores.get(to)];
    if (!source || !target) throw invalid(`The stores ${from} and ${to} are not open.`);
    return await copyTiles({ ...order, from: source, to: target });
  } finally {
    await open.close();
  }
}

function checkStoreName(name: string, { stores }: Settings): void {
  const store = stores[name];
  if (!store) throw invalid(`There is no store ${name}; there are ${Object.keys(stores).join(', ')}.`);
  if (store.type === 'memory')
    throw invalid(`The store ${name} is in the memory of a server; it cannot be copied.`);
}

function invalid(message: string): TilewardenError {
  return new TilewardenError('config-invalid', message);
}
