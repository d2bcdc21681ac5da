import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { pageOf, type TileIndex, tileSetId } from '../../domain/tile-key.ts';
import { getOrCreate } from '../../lib/get-or-create.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import type { ApiDeps, Call } from './api-route.ts';
import { parameters } from './values.ts';

export const tileAddressesBody = z.strictObject({
  addresses: z
    .array(z.string().max(2000))
    .min(1)
    .max(1000)
    .describe('As they are in an access log: paths or whole addresses'),
});

const number = z.number().int();
const ADDRESSES_PER_TURN = 50;

export const tileAddressesResponse = z.object({
  tileSets: z.array(z.object({ layer: z.string(), gridSet: z.string(), format: z.string(), parameters })),
  pages: z
    .array(z.tuple([number, number, number, number]).nullable())
    .describe('For each address which of the tile sets, and zoom, column and row of the page; null: no tile'),
});

export async function findTiles(
  { body, context }: Call<{ body: typeof tileAddressesBody }>,
  { tileAt }: ApiDeps,
) {
  const numbers = new Map<string, number>();
  const tileSets: object[] = [];
  const pages: (readonly number[] | null)[] = [];
  for (const [i, address] of body.addresses.entries()) {
    if (i % ADDRESSES_PER_TURN === 0) await nextTurn();
    const tile = await tileAt(context, address);
    pages.push(tile && [numberOf(tile.tiles), ...pagePlace(tile.index)]);
  }
  return { tileSets, pages };

  function numberOf({ set, selection }: ResolvedTileSet): number {
    return getOrCreate(numbers, tileSetId(set), () => {
      const { layer, gridSet, format } = set;
      return tileSets.push({ layer, gridSet, format, parameters: Object.fromEntries(selection.values) }) - 1;
    });
  }
}

function pagePlace({ z: zoom, x, y }: TileIndex): readonly number[] {
  return [zoom, pageOf(x), pageOf(y)];
}
