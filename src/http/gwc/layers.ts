import type { Catalog } from '../../catalog/catalog.ts';
import type { ShownEntry } from '../../catalog/catalog-editor.ts';
import { invalid, isTilewardenError, shortened } from '../../domain/errors.ts';
import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../domain/grid-subset.ts';
import { findGridSubset, type Layer } from '../../domain/layer.ts';
import { readGwcGridSet, writeGwcGridSet } from '../../geowebcache/grid-set-document.ts';
import type { KeptElement, ReadWarning } from '../../geowebcache/kept-elements.ts';
import { STYLE_FILTER } from '../../geowebcache/parameter-filters.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import {
  LAYER_FIELDS,
  type ReadDocument,
  readGwcLayer,
  SOURCE_FIELDS,
} from '../../geowebcache/read-layer.ts';
import { writeGwcLayer } from '../../geowebcache/write-layer.ts';
import { isRecord } from '../../lib/value-path.ts';
import { collectYielding } from '../../lib/yielding.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { changeNote, removalNote } from '../api/catalog-changes.ts';
import { removeNoted } from '../api/layer-removal.ts';
import { requireReadable, visibleLayers } from '../auth/layer-visibility.ts';
import { shownTo } from '../context.ts';
import { headerText } from '../hits/tile-headers.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import { type Headers, textResponse } from '../response.ts';
import { documentResponse, listResponse, readRoot } from './representation.ts';

const MAX_WARNINGS = 10;

type OfLayer = Call<{ params: 'layer' }>;

export async function listLayers({ context }: Call, { catalog }: ApiDeps, format: DocumentFormat) {
  const layers = await visibleLayers(context, await collectYielding(catalog.layers()));
  return listResponse(context, format, { names: namesOf(layers), entry: 'layer', path: '/rest/layers' });
}

export async function showLayer(call: OfLayer, { catalog, editor }: ApiDeps, format: DocumentFormat) {
  const name = nameIn(call, catalog);
  const bound = catalog.layer(name);
  if (!bound) throw unknownLayer(name);
  await requireReadable(call.context, bound.layer);
  const entry = await editor.show('layer', bound.layer.name);
  const { document, kept } = shownTo(call, { document: entry?.effective, kept: keptIn(entry) });
  return documentResponse(writeGwcLayer(document, kept), format);
}

export async function putLayer(call: OfLayer, deps: ApiDeps, format: DocumentFormat) {
  const warnings = await save(call, readLayer(call, deps, format), deps);
  return textResponse(200, 'layer saved', warningHeader(warnings));
}

export async function postLayer(call: OfLayer, deps: ApiDeps, format: DocumentFormat) {
  const read = readLayer(call, deps, format);
  const name = nameIn(call, deps.catalog);
  if (!deps.catalog.layer(name)) {
    throw invalid(
      `Layer ${shortened(name)} is not known by the configuration.Maybe it was loaded from another source, or you're trying to add a new layer and need to do an HTTP PUT ?`,
    );
  }
  await save(call, read, deps);
  return textResponse(200, '', ['Warning', '299: Deprecated API. Use PUT instead.']);
}

async function save(
  call: OfLayer,
  read: ReadDocument,
  { catalog, editor }: ApiDeps,
): Promise<readonly ReadWarning[]> {
  const former = await editor.show('layer', nameIn(call, catalog));
  const options = { by: call.caller.name, dryRun: false, aside: read.kept };
  call.note(changeNote(await editor.put('layer', merged(read.document, former), options)));
  return read.warnings;
}

export async function removeLayer(call: OfLayer, deps: ApiDeps) {
  const name = nameIn(call, deps.catalog);
  try {
    call.note(await removeNoted(name, { by: call.caller.name, dryRun: false }, deps));
  } catch (error) {
    throw isTilewardenError(error, 'entry-unknown') ? unknownLayer(name) : error;
  }
  return textResponse(200, `${name} deleted`);
}

/** A plus sign may mean a space, unless a layer's name has one. */
function nameIn({ params: { layer } }: OfLayer, catalog: Pick<Catalog, 'layer'>): string {
  return catalog.layer(layer) || !layer.includes('+') ? layer : layer.replaceAll('+', ' ');
}

function readLayer(call: OfLayer, { catalog }: ApiDeps, format: DocumentFormat): ReadDocument {
  const name = nameIn(call, catalog);
  const read = readGwcLayer(readRoot(call.context, format), catalog.layer(name) !== null);
  if (read.document.name !== name) {
    throw invalid(
      'There is a mismatch between the name of the  layer in the submission and the URL you specified.',
    );
  }
  const strays = read.kept.filter(({ path }) => path.length === 1 && path[0] === 'parameterFilters');
  if (strays.some(({ element }) => element.name !== STYLE_FILTER)) {
    throw invalid('parameterFilters contains an element that is not a known ParameterFilter');
  }
  return read;
}

/** Lazy: the list is written in turns. */
function* namesOf(layers: readonly Layer[]): Generator<string> {
  for (const { name } of layers) yield name;
}

function unknownLayer(name: string): HttpProblem {
  return new HttpProblem('path-unknown', `Unknown layer: ${shortened(name)}`);
}

/** Settings that GeoWebCache's documents cannot express are kept. */
function merged(document: ReadDocument['document'], former: ShownEntry | null): object {
  const before = isRecord(former?.document) ? former.document : {};
  if (!document.source) return { ...before, ...document };
  const source = isRecord(document.source) ? document.source : {};
  const sourceBefore = isRecord(before.source) && before.source.type === source.type ? before.source : {};
  return {
    ...without(before, LAYER_FIELDS),
    ...document,
    source: { ...without(sourceBefore, SOURCE_FIELDS), ...source },
  };
}

function without(fields: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

export function keptIn(entry: ShownEntry | null): readonly KeptElement[] {
  return Array.isArray(entry?.aside) ? entry.aside : [];
}

/** RFC 7234, 5.5.7: settings that were accepted but have no effect. */
export function warningHeader(warnings: readonly ReadWarning[]): Headers {
  return warnings
    .slice(0, MAX_WARNINGS)
    .flatMap(({ element, what }) => [
      'Warning',
      `299 - "${headerText(`${element} ${what}`).replaceAll(/["\\]/g, "'")}"`,
    ]);
}

/** `/rest/bounds/{layer}/{gridSet}/java`: the tiles of a layer at each zoom, as a Java array. */
export async function showBounds(
  { context, params: { layer, gridSet, type } }: Call<{ params: 'layer' | 'gridSet' | 'type' }>,
  { catalog }: ApiDeps,
) {
  const bound = catalog.layer(layer) ?? catalog.layer(layer.replaceAll('+', ' '));
  if (!bound) return layerRefused('layer-unknown', `Unknown layer: ${shortened(layer)}`);
  await requireReadable(context, bound.layer);
  const subset = findGridSubset(bound.layer, gridSet);
  if (!subset) {
    return layerRefused('layer-unknown', `${shortened(layer)} does not support ${shortened(gridSet)}`);
  }
  if (type.toLowerCase() === 'java') return textResponse(200, coverages(subset));
  return layerRefused('request-invalid', `Unknown or missing format extension : ${shortened(type)}`);
}

const NAMES = { 'layer-unknown': 'NOT_FOUND', 'request-invalid': 'BAD_REQUEST' } as const;

/** GeoWebCache's wording, which scripts match. */
function layerRefused(code: keyof typeof NAMES, message: string) {
  const status = statusOf(code);
  const text = `org.geowebcache.rest.exception.RestException ${status} ${NAMES[code]}: ${message}`;
  return textResponse(status, text, ['Cache-Control', 'no-store']);
}

/** `{{minX, minY, maxX, maxY, z}, …}`, rows from the bottom. */
function coverages(subset: GridSubset): string {
  const levels: string[] = [];
  for (let z = subset.zoomStart; z <= subset.zoomStop; z++) {
    const rect = coverageAt(subset, z);
    if (!rect) continue;
    const last = levelOf(subset.gridSet, z).rows - 1;
    levels.push(`{${[rect.minX, last - rect.maxY, rect.maxX, last - rect.minY, z].join(', ')}}`);
  }
  return `{${levels.join(', ')}}`;
}

/** Values computed from the extent are always up to date. */
export function updateFilter(
  { params: { filter, type } }: Call<{ params: 'filter' | 'type' }>,
  { catalog }: ApiDeps,
) {
  if (!isKnownFilter(filter, catalog)) {
    throw invalid(
      `No filter by the name ${shortened(filter)} was found. Raster filters are kept without effect, and need no update.`,
    );
  }
  if (!/^(xml|zip)$/i.test(type)) throw invalid(`Unknow update type ${shortened(type)}`);
  return textResponse(200, 'Filter update completed, no problems encountered.\n');
}

function isKnownFilter(name: string, catalog: Pick<Catalog, 'layers'>): boolean {
  for (const { circularFilter } of catalog.layers()) if (circularFilter === name) return true;
  return false;
}

type OfGridSet = Call<{ params: 'gridSet' }>;

export function listGridSets({ context }: Call, { catalog }: ApiDeps, format: DocumentFormat) {
  const names = catalog.gridSets.gridSets.map(({ name }) => name);
  return listResponse(context, format, { names, entry: 'gridSet', path: '/rest/gridsets' });
}

export async function showGridSet(
  { params }: OfGridSet,
  { catalog, editor }: ApiDeps,
  format: DocumentFormat,
) {
  const gridSet = catalog.gridSets.find(params.gridSet);
  if (!gridSet) throw unknown('get', params.gridSet);
  const entry = await editor.show('grid-set', gridSet.name);
  return documentResponse(writeGwcGridSet(gridSet, entry?.document, keptIn(entry)), format);
}

/** Stored under the name in the body, as in GeoWebCache, whose user guide puts `EPSG:2163` to `gridSet1.xml`. */
export async function putGridSet(call: OfGridSet, { editor }: ApiDeps, format: DocumentFormat) {
  const { document, kept, warnings } = readGwcGridSet(readRoot(call.context, format));
  const options = { by: call.caller.name, dryRun: false, aside: kept };
  const change = await editor.put('grid-set', document, options);
  call.note(changeNote(change));
  return textResponse(change.created ? 201 : 200, '', warningHeader(warnings));
}

export async function removeGridSet({ params: { gridSet }, caller, note }: OfGridSet, { editor }: ApiDeps) {
  try {
    note(removalNote(await editor.remove('grid-set', gridSet, { by: caller.name, dryRun: false })));
  } catch (error) {
    throw isTilewardenError(error, 'entry-unknown') ? unknown('remove', gridSet) : error;
  }
  return textResponse(200, '');
}

function unknown(verb: 'get' | 'remove', name: string): HttpProblem {
  return new HttpProblem(
    'path-unknown',
    `Failed to ${verb} GridSet. A GridSet with name "${shortened(name)}" does not exist.`,
  );
}
