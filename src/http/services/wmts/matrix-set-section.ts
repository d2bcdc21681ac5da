import type { GridLevel, GridSet } from '../../../domain/grid-set.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { type GridSetCrs, ogcScale, position } from './grid-set-crs.ts';

/**
 * OGC 07-057r7, tables 13 and 14; in the order of its schema. Levels deeper than `zoomStop` are left out: not every
 * client looks at the limits of a layer before it asks for the deepest level of its grid set.
 */
export function describeMatrixSet(gridSet: GridSet, zoomStop: number, crs: GridSetCrs): Markup {
  const { wellKnownScaleSet: scaleSet } = crs;
  const known = scaleSet === null ? [] : [markup`<WellKnownScaleSet>${scaleSet}</WellKnownScaleSet>`];
  return markup`<TileMatrixSet>
<ows:Identifier>${gridSet.name}</ows:Identifier>
<ows:SupportedCRS>${crs.urn}</ows:SupportedCRS>
${known}
${gridSet.levels.slice(0, zoomStop + 1).map((level) => matrix(gridSet, level, crs))}
</TileMatrixSet>`;
}

function matrix(gridSet: GridSet, level: GridLevel, crs: GridSetCrs): Markup {
  const corner = position(crs, gridSet.extent.minX, level.top);
  return markup`<TileMatrix><ows:Identifier>${level.name}</ows:Identifier><ScaleDenominator>${ogcScale(gridSet, level)}</ScaleDenominator><TopLeftCorner>${corner}</TopLeftCorner><TileWidth>${gridSet.tileWidth}</TileWidth><TileHeight>${gridSet.tileHeight}</TileHeight><MatrixWidth>${level.columns}</MatrixWidth><MatrixHeight>${level.rows}</MatrixHeight></TileMatrix>`;
}
