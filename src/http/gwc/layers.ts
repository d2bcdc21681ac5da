/** GeoWebCache's REST interface for layers and grid sets. */
import type { Catalog } from '../../catalog/catalog.ts';
import type { ShownEntry } from '../../catalog/catalog-editor.ts';
import { invalid, isTilewardenError, shortened } from '../../domain/errors.ts';
import { readGwcGridSet, writeGwcGridSet } from '../../geowebcache/grid-set-document.ts';
import { STYLE_FILTER } from '../../geowebcache/parameter-filters.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import {
  LAYER_FIELDS,
  type ReadDocument,
  readGwcLayer,
  SOURCE_FIELDS,
} from '../../geowebcache/read-layer.ts';
import type { ReadWarning } from '../../geowebcache/read-warnings.ts';
import { writeGwcLayer } from '../../geowebcache/write-layer.ts';
import { isRecord } from '../../lib/value-path.ts';
import { collectYielding } from '../../lib/yielding.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { changeNote, removeNoted } from '../api/catalog-changes.ts';
import { requireReadable, visibleLayers } from '../auth/layer-visibility.ts';
import { shownTo } from '../context.ts';
import { headerText } from '../hits/hits.ts';
import { HttpProblem } from '../problems.ts';
import { type Headers, textResponse } from '../response.ts';
import { documentResponse, listResponse, readRoot } from './representation.ts';

const MAX_WARNINGS = 10;

type OfLayer = Call<{ params: 'layer' }>;

export async function listLayers({ context }: Call, { catalog }: ApiDeps, format: DocumentFormat) {
  const layers = await visibleLayers(context, await collectYielding(catalog.layers()));
  return listResponse(context, format, layers, 'layer', '/rest/layers');
}

export async function showLayer(call: OfLayer, { catalog, editor }: ApiDeps, format: DocumentFormat) {
  const name = requestedName(call, catalog);
  const bound = catalog.layer(name);
  if (!bound) throw unknownLayer(name);
  await requireReadable(call.context, bound.layer);
  const entry = await editor.show('layer', bound.layer.name);
  return documentResponse(writeGwcLayer(shownTo(call, entry?.effective)), format);
}

export async function putLayer(call: OfLayer, deps: ApiDeps, format: DocumentFormat) {
  const warnings = await save(call, readLayer(call, deps, format), deps);
  return textResponse(200, 'layer saved', warningHeader(warnings));
}

export async function postLayer(call: OfLayer, deps: ApiDeps, format: DocumentFormat) {
  const read = readLayer(call, deps, format);
  const name = requestedName(call, deps.catalog);
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
  const former = await editor.show('layer', requestedName(call, catalog));
  const options = { by: call.caller.name, dryRun: false };
  call.note(changeNote(await editor.put('layer', mergedLayer(read.document, former), options)));
  return read.warnings;
}

export async function removeLayer(call: OfLayer, deps: ApiDeps) {
  const name = requestedName(call, deps.catalog);
  try {
    call.note(await removeNoted('layer', name, { by: call.caller.name, dryRun: false }, deps));
  } catch (error) {
    throw isTilewardenError(error, 'entry-unknown') ? unknownLayer(name) : error;
  }
  return textResponse(200, `${name} deleted`);
}

/** A plus sign in the path means a space, unless a layer has this very name. */
function requestedName({ params: { layer } }: OfLayer, catalog: Pick<Catalog, 'layer'>): string {
  return catalog.layer(layer) || !layer.includes('+') ? layer : layer.replaceAll('+', ' ');
}

function readLayer(call: OfLayer, { catalog }: ApiDeps, format: DocumentFormat): ReadDocument {
  const name = requestedName(call, catalog);
  const read = readGwcLayer(readRoot(call.context, format), catalog.layer(name) !== null);
  if (read.document.name !== name) {
    throw invalid(
      'There is a mismatch between the name of the  layer in the submission and the URL you specified.',
    );
  }
  const isUnknownFilter = ({ path: [list, name, ...inner], ignored }: ReadWarning) =>
    ignored && list === 'parameterFilters' && inner.length === 0 && name !== STYLE_FILTER;
  if (read.warnings.some(isUnknownFilter)) {
    throw invalid('parameterFilters contains an element that is not a known ParameterFilter');
  }
  return read;
}

function unknownLayer(name: string): HttpProblem {
  return new HttpProblem('path-unknown', `Unknown layer: ${shortened(name)}`);
}

/** Adds the former settings that GeoWebCache's documents cannot express. */
function mergedLayer(document: ReadDocument['document'], former: ShownEntry | null): object {
  const before = isRecord(former?.document) ? former.document : {};
  if (!document.source) return { ...before, ...document };
  const source = isRecord(document.source) ? document.source : {};
  const sourceBefore = isRecord(before.source) && before.source.type === source.type ? before.source : {};
  return {
    ...without(before, LAYER_FIELDS),
    ...document,
    formats: withOptions(document.formats, before.formats),
    parameters: [...timesIn(before.parameters), ...[document.parameters ?? []].flat()],
    source: { ...without(sourceBefore, SOURCE_FIELDS), ...source },
  };
}

/** GeoWebCache's documents have only the types of formats: their former options are kept. */
function withOptions(types: unknown, before: unknown): unknown {
  if (!Array.isArray(types) || !Array.isArray(before)) return types;
  return types.map((type) => before.find((format) => isRecord(format) && format.type === type) ?? type);
}

/** Former time parameters, which GeoWebCache's documents cannot express. */
function timesIn(parameters: unknown): readonly unknown[] {
  return Array.isArray(parameters) ? parameters.filter((one) => isRecord(one) && one.type === 'time') : [];
}

function without(fields: Readonly<Record<string, unknown>>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** RFC 7234, 5.5.7: names parts of the document with no effect, or another one than in GeoWebCache. */
export function warningHeader(warnings: readonly ReadWarning[]): Headers {
  return warnings
    .slice(0, MAX_WARNINGS)
    .flatMap(({ path, what }) => [
      'Warning',
      `299 - "${headerText(`${path.join('.')} ${what}`).replaceAll(/["\\]/g, "'")}"`,
    ]);
}

type OfGridSet = Call<{ params: 'gridSet' }>;

export function listGridSets({ context }: Call, { catalog }: ApiDeps, format: DocumentFormat) {
  return listResponse(context, format, catalog.gridSets.gridSets, 'gridSet', '/rest/gridsets');
}

export async function showGridSet(
  { params }: OfGridSet,
  { catalog, editor }: ApiDeps,
  format: DocumentFormat,
) {
  const gridSet = catalog.gridSets.find(params.gridSet);
  if (!gridSet) throw unknown('get', params.gridSet);
  const entry = await editor.show('grid-set', gridSet.name);
  return documentResponse(writeGwcGridSet(gridSet, entry?.document), format);
}

/** Stored under the name in the body, as in GeoWebCache, whose user guide puts `EPSG:2163` to `gridSet1.xml`. */
export async function putGridSet(call: OfGridSet, { editor }: ApiDeps, format: DocumentFormat) {
  const { document, warnings } = readGwcGridSet(readRoot(call.context, format));
  const change = await editor.put('grid-set', document, { by: call.caller.name, dryRun: false });
  call.note(changeNote(change));
  return textResponse(change.created ? 201 : 200, '', warningHeader(warnings));
}

export async function removeGridSet({ params: { gridSet }, caller, note }: OfGridSet, deps: ApiDeps) {
  try {
    note(await removeNoted('grid-set', gridSet, { by: caller.name, dryRun: false }, deps));
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
