import { expect, it } from 'vitest';
import { catalogOf, createTestApp, layerNamed } from '../../../test/fixtures/http-app.ts';
import type { Layer } from '../../domain/layer.ts';

const ADDRESSES = [
  '/tiles/world/1/0/0.png',
  '/service/tms/1.0.0/world/1/0/0.png',
  '/service/gmaps?layers=world&zoom=1&x=0&y=0',
  '/service/wmts/rest/world/EPSG:900913/EPSG:900913:1/0/0?format=image/png',
  '/service/wmts?REQUEST=GetTile&LAYER=world&FORMAT=image/png&TILEMATRIXSET=EPSG:900913&TILEMATRIX=EPSG:900913:1&TILEROW=0&TILECOL=0',
];

/** Anonymous clients only, and a layer that can be declared again. */
function open() {
  let catalog = catalogOf([layerNamed('world')]);
  let version = 1;
  const app = createTestApp({
    access: { loopbackOnly: false, authenticate: async () => null, stillHolds: async () => false },
    deps: {
      catalog: {
        layer: (name) => catalog.layer(name),
        layers: () => catalog.layers(),
        gridSets: catalog.gridSets,
        get version() {
          return version;
        },
      },
    },
  });
  const declare = (...layers: readonly Layer[]) => {
    catalog = catalogOf(layers);
    version++;
  };
  const statusOf = async (address: string) => (await app.request('GET', address)).status;
  return { declare, statusOf };
}

it.each(ADDRESSES)('a tile answered before follows the layer as it is now: %s', async (address) => {
  const { declare, statusOf } = open();
  for (let i = 0; i < 3; i++) expect(await statusOf(address)).toBe(200);
  declare(layerNamed('world', { access: 'authenticated' }));
  for (let i = 0; i < 3; i++) expect(await statusOf(address)).toBe(401);
  declare(layerNamed('world'));
  expect(await statusOf(address)).toBe(200);
  declare();
  for (let i = 0; i < 3; i++) expect(await statusOf(address)).toBeGreaterThanOrEqual(400);
});
