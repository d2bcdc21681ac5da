import { join } from 'node:path';
import { boundsOfTile, createGridSet } from '../../src/domain/grid-set.ts';
import { tilesIn } from '../contracts/tile-store-tools.ts';
import { inLength } from '../fixtures/length.ts';
import { showsPlace } from '../fixtures/mock-wms-pixels.ts';
import { acceptImage } from '../fixtures/pictures.ts';
import { openStoreIn } from '../fixtures/segment-store.ts';

export const LAYER = 'faulty';
export const MAX_ZOOM = inLength(4, 6);
export const ALL_TILES = (4 ** (MAX_ZOOM + 1) - 1) / 3;
const TILE_SIZE = 64;
const WORLD = 20037508.342789244;
const SET = { layer: LAYER, gridSet: 'small-tiles', format: 'image/png', parametersId: null };

const gridSet = createGridSet({
  name: SET.gridSet,
  srs: 3857,
  extent: { minX: -WORLD, minY: -WORLD, maxX: WORLD, maxY: WORLD },
  levels: MAX_ZOOM + 1,
  tileWidth: TILE_SIZE,
  tileHeight: TILE_SIZE,
});

export function configFor(wmsUrl: string, processes: number): string {
  return `
server: { processes: ${processes} }
upstreams: { '${new URL(wmsUrl).host}': { concurrency: 8, allowPrivate: true } }
gridSets:
  - { name: ${SET.gridSet}, srs: 3857, extent: [-${WORLD}, -${WORLD}, ${WORLD}, ${WORLD}], levels: ${MAX_ZOOM + 1}, tileSize: ${TILE_SIZE} }
layers:
  - { name: ${LAYER}, source: { type: wms, url: '${wmsUrl}', layers: a }, formats: [${SET.format}], gridSets: [${SET.gridSet}], metatile: [4, 4] }
tasks: { workers: 2, maxThreads: 4 }
`;
}

/** Every stored tile decodes and shows its own place, as the map was at one of the versions. */
export async function checkTiles(
  data: string,
  versions: readonly number[],
): Promise<{ checked: number; wrong: string[] }> {
  const root = join(data, 'stores', 'default');
  const store = await openStoreIn(root);
  const wrong: string[] = [];
  let checked = 0;
  for (let z = 0; z <= MAX_ZOOM; z++) {
    for await (const { x, y } of tilesIn(store, SET, z)) {
      const tile = await store.get(SET, { z, x, y });
      checked++;
      if (!tile || !(await showsTile(tile.bytes, z, x, y, versions))) wrong.push(`${z}/${x}/${y}`);
    }
  }
  await store.close();
  return { checked, wrong };
}

async function showsTile(bytes: Buffer, z: number, x: number, y: number, versions: readonly number[]) {
  const image = await acceptImage(bytes, null, TILE_SIZE, TILE_SIZE);
  const parameters = new Map([['LAYERS', 'a']]);
  const place = {
    srs: 3857,
    bounds: boundsOfTile(gridSet, z, x, y),
    width: TILE_SIZE,
    height: TILE_SIZE,
    parameters,
  };
  return versions.some((version) => showsPlace(image, { ...place, version }));
}
