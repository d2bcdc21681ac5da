import { levelOf } from '../../../domain/grid-set.ts';
import type { GridSubset } from '../../../domain/grid-subset.ts';
import type { Layer } from '../../../domain/layer.ts';
import { type Html as Markup, html as markup } from '../../answer/html.ts';
import { boxElement } from './layer-description.ts';
import { crsNames } from './wms-crs.ts';

/** What the DTD of 1.1.1 leaves to us, as WMS-C clients know it. */
export const TILE_SET_DTD = [
  '<!ELEMENT VendorSpecificCapabilities (TileSet*)>',
  '<!ELEMENT TileSet (SRS, BoundingBox?, Resolutions, Width, Height, Format, Layers*, Styles*)>',
  '<!ELEMENT Resolutions (#PCDATA)>',
  '<!ELEMENT Width (#PCDATA)>',
  '<!ELEMENT Height (#PCDATA)>',
  '<!ELEMENT Layers (#PCDATA)>',
  '<!ELEMENT Styles (#PCDATA)>',
].join('\n');

/** WMS-C: the grids in which a layer can be asked for tiles, under each name of their CRS. */
export function describeTileSets(layer: Layer): Markup {
  const sets = layer.gridSubsets.flatMap((subset) =>
    crsNames(subset.gridSet, '1.1.1').flatMap((name) => {
      const grid = describeGrid(subset, name);
      return layer.formats.map(
        ({ mediaType }) =>
          markup`<TileSet>${grid}<Format>${mediaType}</Format><Layers>${layer.name}</Layers><Styles></Styles></TileSet>`,
      );
    }),
  );
  return { markup: sets.map((set) => set.markup).join('\n') };
}

/** The grid's own extent is where its tiles are counted from. */
function describeGrid(subset: GridSubset, name: string): Markup {
  const { extent, tileWidth, tileHeight } = subset.gridSet;
  const box = boxElement('1.1.1', name, extent);
  return markup`<SRS>${name}</SRS>${box}<Resolutions>${resolutions(subset)}</Resolutions><Width>${tileWidth}</Width><Height>${tileHeight}</Height>`;
}

function resolutions({ gridSet, zoomStart, coverages }: GridSubset): string {
  return coverages.map((_, offset) => levelOf(gridSet, zoomStart + offset).resolution).join(' ');
}
