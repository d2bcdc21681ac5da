import type { Bounds, MapPicture } from '../domain/bounds.ts';
import { invalid } from '../domain/errors.ts';
import { levelOf } from '../domain/grid-set.ts';
import type { GridSubset } from '../domain/grid-subset.ts';
import { type Crs, createPlaceMapping, PixelMesh } from '../domain/pixel-mesh.ts';
import { PixelSampler } from '../domain/pixel-sampler.ts';
import type { TileIndex } from '../domain/tile-key.ts';
import { tilesToWarp, warpPixels } from '../domain/warp-pixels.ts';
import { copyPart, type RasterImage, samplesOf } from './decode-image.ts';

/** A layer of a map whose tiles are in another CRS. */
export interface WarpedLayer {
  /** CRS of the map, and its bounds there. */
  readonly crs: Crs;
  readonly bounds: Bounds;
  readonly subset: GridSubset;
  readonly z: number;
  /** Size of a tile in pixels. */
  readonly width: number;
  readonly height: number;
}

interface Band {
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The pixels of a layer in a band, called from the top down; null where it has none. */
export type ShowBand = (band: Band) => Promise<RasterImage | null>;

export type TilePosition = Pick<TileIndex, 'x' | 'y'>;

/** Decodes tiles side by side into one picture. */
export type DecodeTiles = (tiles: readonly TilePosition[]) => Promise<RasterImage>;

/** Pixels of tiles that are held for a band of a map, and that are decoded for all of its bands. */
const MAX_BAND_PIXELS = 32 * 1024 * 1024;
const MAX_LAYER_PIXELS = 4 * 64 * 1024 * 1024;
/** Tiles decoded in one call of the image library. */
const TILES_AT_ONCE = 16;

export function warpLayer(
  { crs, bounds, subset, z, width, height }: WarpedLayer,
  picture: Pick<MapPicture, 'width' | 'height'>,
  decode: DecodeTiles,
  signal: AbortSignal,
): ShowBand {
  const mapping = createPlaceMapping(crs, subset.gridSet);
  if (!mapping) throw new Error(`It is not known how to get to ${subset.gridSet.name}.`);
  const { resolution } = levelOf(subset.gridSet, z);
  const sampler = new PixelSampler(subset, z);
  const options = { resampling: 'bilinear', pause: () => signal.throwIfAborted() } as const;
  const most = Math.floor(MAX_BAND_PIXELS / (width * height));
  let left = Math.floor(MAX_LAYER_PIXELS / (width * height));

  async function load(keys: ReadonlySet<number>): Promise<void> {
    const missing = sampler.keep(keys).map((key) => sampler.tileOfKey(key));
    left -= missing.length;
    if (left < 0) throw tooMany();
    for (let first = 0; first < missing.length; first += TILES_AT_ONCE) {
      signal.throwIfAborted();
      const tiles = missing.slice(first, first + TILES_AT_ONCE);
      const strip = samplesOf(await decode(tiles));
      for (const [index, tile] of tiles.entries()) {
        sampler.add(tile, copyPart(strip, { left: index * width, top: 0, width, height }).data);
      }
    }
  }

  return async (band) => {
    const mesh = new PixelMesh(bandPicture(bounds, picture, band), mapping, resolution);
    const keys = await tilesToWarp(mesh, sampler, options, most);
    if (!keys) throw tooMany();
    if (keys.size === 0) return null;
    await load(keys);
    const pixels = Buffer.alloc(4 * band.width * band.height);
    await warpPixels(mesh, sampler, options, pixels, band.width);
    return { width: band.width, height: band.height, pixels };
  };
}

function bandPicture(
  { minX, minY, maxX, maxY }: Bounds,
  picture: Pick<MapPicture, 'height'>,
  { top, width, height }: Band,
): MapPicture {
  const pixel = (maxY - minY) / picture.height;
  const upper = maxY - top * pixel;
  return { bounds: { minX, minY: upper - height * pixel, maxX, maxY: upper }, width, height };
}

function tooMany(): Error {
  return invalid('This map would be made of too many tiles. Request a smaller area, or a smaller map.');
}
