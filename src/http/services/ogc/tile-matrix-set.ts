import type { GridLevel, GridSet } from '../../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../../domain/grid-subset.ts';
import { ogcScale } from '../wmts/grid-set-crs.ts';
import type { OgcCrs } from './ogc-crs.ts';

type Position = readonly [number, number];

/**
 * OGC 17-083r4, 6.1 and its JSON encoding. `identifier`, `supportedCRS` and `topLeftCorner` are what the draft called
 * `id`, `crs` and `pointOfOrigin`: GDAL up to 3.6 looks for them, and the standard lets other members be.
 */
export function describeTileMatrixSet(gridSet: GridSet, crs: OgcCrs): object {
  const { minX, minY, maxX, maxY } = gridSet.extent;
  return {
    id: gridSet.name,
    identifier: gridSet.name,
    title: gridSet.description === '' ? gridSet.name : gridSet.description,
    ...(crs.tileMatrixSetUri !== null && { uri: crs.tileMatrixSetUri }),
    crs: crs.uri,
    supportedCRS: crs.uri,
    orderedAxes: crs.orderedAxes,
    ...(crs.wellKnownScaleSet !== null && { wellKnownScaleSet: crs.wellKnownScaleSet }),
    boundingBox: {
      lowerLeft: position(crs, minX, minY),
      upperRight: position(crs, maxX, maxY),
      crs: crs.uri,
      orderedAxes: crs.orderedAxes,
    },
    tileMatrices: gridSet.levels.map((level) => describeMatrix(gridSet, level, crs)),
  };
}

function describeMatrix(gridSet: GridSet, level: GridLevel, crs: OgcCrs): object {
  return {
    id: level.name,
    identifier: level.name,
    scaleDenominator: ogcScale(gridSet, level),
    cellSize: level.resolution,
    cornerOfOrigin: 'topLeft',
    pointOfOrigin: position(crs, gridSet.extent.minX, level.top),
    topLeftCorner: position(crs, gridSet.extent.minX, level.top),
    tileWidth: gridSet.tileWidth,
    tileHeight: gridSet.tileHeight,
    matrixWidth: level.columns,
    matrixHeight: level.rows,
  };
}

/** OGC 17-083r4, 6.2: which tiles there are, level by level. */
export function describeLimits(subset: GridSubset): readonly object[] {
  return subset.gridSet.levels.flatMap((level, z) => {
    const coverage = coverageAt(subset, z);
    if (!coverage) return [];
    return [
      {
        tileMatrix: level.name,
        minTileRow: coverage.minY,
        maxTileRow: coverage.maxY,
        minTileCol: coverage.minX,
        maxTileCol: coverage.maxX,
      },
    ];
  });
}

/** In the order of the CRS's axes. */
export function position({ yFirst }: OgcCrs, x: number, y: number): Position {
  return yFirst ? [y, x] : [x, y];
}
