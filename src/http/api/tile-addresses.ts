import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { TilewardenError } from '../../domain/errors.ts';
import { subsetContains } from '../../domain/grid-subset.ts';
import { pageOf, type TileIndex, tileSetId } from '../../domain/tile-key.ts';
import { getOrMake } from '../../lib/get-or-make.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { type Answer, jsonAnswer } from '../answer.ts';
import { mayLookAt } from '../door/layer-visibility.ts';
import { createRouter } from '../door/router.ts';
import type { Exchange, Target } from '../exchange.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { openServices } from '../services/open-services.ts';
import type { TileAnswerer } from '../services/tile-answer.ts';
import { tileServiceRoutes } from '../services/tile-service-routes.ts';
import { wmsRoutes } from '../services/wms/wms-routes.ts';
import { readBody } from '../wire/read-body.ts';
import { parameters } from '../wire/values.ts';

export const tileAddressesBody = z.strictObject({
  addresses: z
    .array(z.string().max(2000))
    .min(1)
    .max(1000)
    .describe('As they are in an access log: paths or whole addresses'),
});

const number = z.number().int();
const ADDRESSES_PER_TURN = 50;

export const tileAddressesAnswer = z.object({
  tileSets: z.array(z.object({ layer: z.string(), gridSet: z.string(), format: z.string(), parameters })),
  pages: z
    .array(z.tuple([number, number, number, number]).nullable())
    .describe('For each address which of the tile sets, and zoom, column and row of the page; null: no tile'),
});

interface NamedTile {
  readonly tiles: ResolvedTileSet;
  readonly index: TileIndex;
}

/** `/api/v1/tile-addresses`: which pages the addresses of an access log are in, for seeds by use. */
export function tileAddressRoutes(deps: RouteDeps): readonly Route[] {
  const tileAt = createTileFinder(deps);
  return [
    {
      method: 'POST',
      path: '/api/v1/tile-addresses',
      role: 'operator',
      handler: find,
      asksOnly: () => true,
    },
  ];

  async function find(exchange: Exchange): Promise<Answer> {
    const { addresses } = readBody(exchange, tileAddressesBody);
    const numbers = new Map<string, number>();
    const tileSets: object[] = [];
    const pages: (readonly number[] | null)[] = [];
    for (const [i, address] of addresses.entries()) {
      if (i % ADDRESSES_PER_TURN === 0) await nextTurn();
      const found = await tileAt(exchange, address);
      if (found) pages.push([numberOf(found.tiles), ...pagePlace(found.index)]);
      else pages.push(null);
    }
    return jsonAnswer({ tileSets, pages });

    function numberOf({ set, selection }: ResolvedTileSet): number {
      return getOrMake(numbers, tileSetId(set), () => {
        const { layer, gridSet, format } = set;
        return (
          tileSets.push({ layer, gridSet, format, parameters: Object.fromEntries(selection.values) }) - 1
        );
      });
    }
  }
}

function pagePlace({ z: zoom, x, y }: TileIndex): readonly number[] {
  return [zoom, pageOf(x), pageOf(y)];
}

/** The services themselves read the address; no tile is read or made. Null: it names no tile that the caller may see. */
function createTileFinder({ prefixes = [''], ...deps }: RouteDeps) {
  const named = new WeakMap<Target, NamedTile>();
  const note: TileAnswerer = ({ target }, tiles, index) => {
    named.set(target, { tiles, index });
    return { status: 204, headers: [], body: null };
  };
  const services = {
    ...openServices(deps),
    answerTile: note,
    answerAccepted: note,
    remembering: <Handler>(handler: Handler) => handler,
    composer: { compose: refuseMap },
  };
  const router = createRouter([...tileServiceRoutes(services), ...wmsRoutes(services)], prefixes);

  return async (exchange: Exchange, address: string): Promise<NamedTile | null> => {
    const match = router.match('GET', address);
    if (match.kind !== 'found' || !match.route) return null;
    named.delete(match);
    try {
      await match.route.handler(exchange.towards(match));
    } catch {
      return null;
    }
    const found = named.get(match);
    const { caller } = exchange;
    if (!found || (caller && !mayLookAt(caller, found.tiles.bound.layer))) return null;
    const { z: zoom, x, y } = found.index;
    return subsetContains(found.tiles.subset, zoom, x, y) ? found : null;
  };
}

async function refuseMap(): Promise<never> {
  throw new TilewardenError('request-invalid', 'The address names no tile.');
}
