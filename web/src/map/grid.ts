import Projection from 'ol/proj/Projection.js';
import { get as knownProjection } from 'ol/proj.js';
import TileImage from 'ol/source/TileImage.js';
import TileGrid from 'ol/tilegrid/TileGrid.js';
import View from 'ol/View.js';
import type { GridSetInfo } from './tile-set.ts';

export function projectionOf({ srs, extent }: GridSetInfo): Projection {
  return knownProjection(srs) ?? new Projection({ code: srs, units: 'm', extent: [...extent] });
}

export function gridOf(gridSet: GridSetInfo): TileGrid {
  return new TileGrid({
    extent: [...gridSet.extent],
    minZoom: gridSet.zoomStart,
    resolutions: gridSet.resolutions.slice(0, gridSet.zoomStop + 1),
    origins: gridSet.origins.slice(0, gridSet.zoomStop + 1).map((origin) => [...origin]),
    tileSize: [...gridSet.tileSize],
  });
}

/** Shows every zoom of the grid set, and none between. */
export function viewOf({ resolutions, zoomStart, zoomStop }: GridSetInfo, projection: Projection): View {
  return new View({
    projection,
    resolutions: resolutions.slice(zoomStart, zoomStop + 1),
    constrainResolution: true,
    showFullExtent: true,
  });
}

export function sourceOf(options: {
  readonly projection: Projection;
  readonly tileGrid: TileGrid;
  readonly wrapX: boolean;
  readonly addressOf: (z: number, x: number, y: number) => string;
  readonly onTileFailed: (address: string) => void;
}): TileImage {
  const addressAt = ([z = 0, x = 0, y = 0]: number[]) => options.addressOf(z, x, y);
  const source = new TileImage({ ...options, tileUrlFunction: addressAt });
  source.on('tileloaderror', ({ tile }) => options.onTileFailed(addressAt(tile.getTileCoord())));
  return source;
}
