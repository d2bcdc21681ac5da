// A process that writes square layers of tiles into a bundle store: `fill.ts ROOT ZOOM LAYER=SIDE …`
import { openTiles, squares, writeTiles } from '../harness/tile-store.ts';

/** Tiles along a side of one write. */
const BATCH = 16;

const [root = '', zoom, ...layers] = process.argv.slice(2);
const store = await openTiles(root);
for (const [layer = '', side] of layers.map((pair) => pair.split('=')))
  await writeTiles(store, layer, Number(zoom), squares(Number(side), BATCH));
await store.close();
