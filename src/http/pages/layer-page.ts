import type { BoundLayer, Catalog } from '../../catalog/catalog.ts';
import { coordsOf } from '../../domain/bounds.ts';
import { type GridSubset, middleTileOf } from '../../domain/grid-subset.ts';
import type { Layer } from '../../domain/layer.ts';
import { isWebMercator } from '../../domain/srs.ts';
import { resolveTileSet } from '../../pipeline/resolve-tile-set.ts';
import type { ResolvedTileSet } from '../../pipeline/tile-pipeline.ts';
import { cacheControlOf } from '../auth/layer-visibility.ts';
import { carryKey } from '../auth/reader-key.ts';
import type { Context } from '../context.ts';
import { createPageWriter, EMPTY, type Html, html } from '../page.ts';
import { withHeaders } from '../response.ts';
import { type Handler, publicRoute, type Route } from '../route.ts';
import { parametersOf } from '../services/kvp.ts';
import { titleOf } from '../services/layer-facts.ts';
import { layerFor } from '../services/tiles.ts';
import { addressPart, type Keyed, type Snippet, snippetsFor } from './client-snippets.ts';

/** `/layers/{layer}`: the layer's properties, and how to add it to each map client. */
export function layerPageRoutes(catalog: Pick<Catalog, 'layer'>): readonly Route[] {
  const page = createPageWriter();
  const layerPage: Handler = async (context) => {
    const bound = await layerFor(context, catalog, context.param('layer'));
    const { layer } = bound;
    const keyed: Keyed = (address) => carryKey(context, address, [layer], '&');
    const body = describeLayer(tilesShown(context, bound), context.baseUrl, keyed);
    return withHeaders(page({ title: titleOf(layer), body, copying: true }), cacheControlOf(layer));
  };
  return [{ ...publicRoute('/layers/{layer}', layerPage), takesKey: true }];
}

/** `?gridSet=…&format=…` and the layer's parameters; web mercator by default, if the layer has it. */
function tilesShown({ query }: Context, bound: BoundLayer): ResolvedTileSet {
  const { gridSubsets, parameters } = bound.layer;
  const choice = new URLSearchParams(query);
  const usual = gridSubsets.find(({ gridSet }) => isWebMercator(gridSet)) ?? gridSubsets[0];
  return resolveTileSet(bound, {
    gridSet: choice.get('gridSet') ?? usual.gridSet.name,
    format: choice.get('format'),
    parameters: parametersOf(query, parameters),
  });
}

/** Redirects from GeoWebCache's addresses of these pages. */
export function demoRoutes(): readonly Route[] {
  const redirect = (location: string) => ({ status: 302, headers: ['Location', location], body: null });
  return [
    publicRoute('/demo/', ({ baseUrl }) => redirect(`${baseUrl}/demo`)),
    publicRoute('/demo/{layer}', (context) =>
      redirect(`${context.baseUrl}/layers/${addressPart(context.param('layer'))}`),
    ),
  ];
}

function describeLayer(shown: ResolvedTileSet, base: string, keyed: Keyed): Html {
  const { layer } = shown.bound;
  return html`<nav aria-label="Elsewhere"><a href="${base}/#layer=${addressPart(layer.name)}">Map</a> · <a href="${base}/#/layers/${addressPart(layer.name)}">Console</a></nav>
${layer.description === '' ? EMPTY : html`<p>${layer.description}</p>`}
${preview(layer, base, keyed)}
<dl>
<dt>Name</dt><dd><code>${layer.name}</code></dd>
<dt>Formats</dt><dd>${layer.formats.map(({ mediaType }) => mediaType).join(', ')}</dd>
${layer.parameters.map(({ name, values }) => html`<dt>${name}</dt><dd>${parameterText(values)}</dd>`)}
${layer.attribution === '' ? EMPTY : html`<dt>Attribution</dt><dd>${layer.attribution}</dd>`}
</dl>
<h2>In map clients</h2>
${choices(shown, base, keyed)}
${snippetsFor(shown, base, keyed).map(snippet)}
<h2>Grid sets</h2>
${gridSetTable(layer)}
<h2>Documents</h2>
${documentList(layer, base, keyed)}`;
}

function choices(shown: ResolvedTileSet, base: string, keyed: Keyed): Html {
  const { layer } = shown.bound;
  const current: Readonly<Record<string, string>> = {
    gridSet: shown.subset.gridSet.name,
    format: shown.format.mediaType,
    ...Object.fromEntries(shown.selection.values),
  };
  const link = (name: string, value: string): Html => {
    if ((current[name] ?? '') === value)
      return html`<strong aria-current="true">${value || 'default'}</strong> `;
    const query = new URLSearchParams({ ...current, [name]: value });
    const address = keyed(`${base}/layers/${addressPart(layer.name)}?${query.toString()}`);
    return html`<a href="${address}">${value || 'default'}</a> `;
  };
  const offered: readonly (readonly [label: string, name: string, values: readonly string[]])[] = [
    ['Grid set', 'gridSet', layer.gridSubsets.map(({ gridSet }) => gridSet.name)],
    ['Format', 'format', layer.formats.map(({ mediaType }) => mediaType)],
    ...layer.parameters.map(({ name, values }) => [name, name, values ?? []] as const),
  ];
  const several = offered.filter(([, , values]) => values.length > 1);
  return html`<dl>
${several.map(([label, name, values]) => html`<dt>${label}</dt><dd>${values.map((value) => link(name, value))}</dd>`)}
</dl>`;
}

function parameterText(values: readonly string[] | null): string {
  return values === null
    ? 'any value that its filter allows'
    : values.filter((value) => value !== '').join(', ');
}

function snippet({ id, client, how, text }: Snippet): Html {
  return html`<section aria-labelledby="${id}-heading">
<h3 id="${id}-heading">${client}</h3>
<p>${how}</p>
<pre id="${id}" tabindex="0">${text}</pre>
</section>`;
}

/** A tile from the middle of the layer. */
function preview(layer: Layer, base: string, keyed: Keyed): Html {
  const [subset] = layer.gridSubsets;
  const { gridSet } = subset;
  const format = layer.formats.find(({ kind }) => kind === 'raster');
  if (!format) return EMPTY;
  const { z, x, y } = middleTileOf(subset);
  const place = `${z}/${x}/${y}.${format.extensions[0]}`;
  const address = keyed(`${base}/tiles/${addressPart(layer.name)}/${addressPart(gridSet.name)}/${place}`);
  return html`<img class="preview" src="${address}" alt="A tile of the layer" width="${gridSet.tileWidth}" height="${gridSet.tileHeight}">`;
}

function gridSetTable({ gridSubsets }: Layer): Html {
  return html`<table>
<thead><tr><th scope="col">Name</th><th scope="col">CRS</th><th scope="col">Zooms</th><th scope="col">Tile</th><th scope="col">Extent</th></tr></thead>
<tbody>
${gridSubsets.map(gridSetRow)}
</tbody>
</table>`;
}

function gridSetRow({ gridSet, zoomStart, zoomStop, extent }: GridSubset): Html {
  return html`<tr><td>${gridSet.name}</td><td>EPSG:${gridSet.srs}</td><td>${zoomStart}–${zoomStop}</td><td>${gridSet.tileWidth}×${gridSet.tileHeight}</td><td>${coordsOf(extent).join(', ')}</td></tr>`;
}

function documentList({ name }: Layer, base: string, keyed: Keyed): Html {
  const part = addressPart(name);
  const documents: readonly (readonly [title: string, address: string])[] = [
    ['WMTS capabilities', `${base}/service/wmts?SERVICE=WMTS&REQUEST=GetCapabilities&LAYER=${part}`],
    ['TileJSON', `${base}/tiles/${part}.json`],
    ['OGC API – Tiles', `${base}/ogc/collections/${part}?f=html`],
    ['TMS', `${base}/service/tms/1.0.0`],
  ];
  return html`<ul>
${documents.map(([title, address]) => html`<li><a href="${keyed(address)}">${title}</a></li>`)}
</ul>`;
}
