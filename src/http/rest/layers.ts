import type { Catalog } from '../../catalog/catalog.ts';
import type { ShownEntry } from '../../catalog/catalog-editor.ts';
import { invalid, isTilewardenError, shortened } from '../../domain/errors.ts';
import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../domain/grid-subset.ts';
import { findGridSubset, type Layer } from '../../domain/layer.ts';
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
import { inTurns } from '../../lib/in-turns.ts';
import { isRecord } from '../../lib/value-path.ts';
import { type Answer, type Headers, textAnswer } from '../answer.ts';
import { changeNote, removalNote } from '../api/catalog-changes.ts';
import { refuseOthers, visibleLayers } from '../door/layer-visibility.ts';
import { callerName, type Exchange, shownTo } from '../exchange.ts';
import { HttpProblem, statusOf } from '../problems.ts';
import type { Method, Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { headerText } from '../services/tile-headers.ts';
import { documentAnswer, listAnswer, readRoot, resourceRoutes } from './representation.ts';

const PATH = '/rest/layers';
const MOST_WARNINGS = 10;

export const roleFor = (method: Method) => (method === 'GET' ? 'viewer' : 'admin');

/** `/rest/layers` and `/rest/layers/{layer}`, as GeoWebCache's clients know them. */
export function restLayerRoutes({ catalog, editor }: RouteDeps): readonly Route[] {
  const one = { GET: show, PUT: put, POST: post, DELETE: remove };
  return [
    ...resourceRoutes({ path: PATH, role: roleFor, what: 'the layers', handlers: { GET: list } }),
    ...resourceRoutes({ path: `${PATH}/{layer}`, role: roleFor, what: 'a layer', handlers: one }),
  ];

  async function list(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const layers = await visibleLayers(exchange, await inTurns(catalog.layers()));
    return await listAnswer(exchange, format, { names: namesOf(layers), entry: 'layer', path: PATH });
  }

  async function show(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const bound = catalog.layer(nameIn(exchange));
    if (!bound) throw unknownLayer(exchange);
    await refuseOthers(exchange, bound.layer);
    const entry = await editor.show('layer', bound.layer.name);
    const { document, kept } = shownTo(exchange, { document: entry?.document, kept: keptIn(entry) });
    return documentAnswer(writeGwcLayer(document, kept), format);
  }

  async function put(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const warnings = await save(exchange, readLayer(exchange, format));
    return textAnswer(200, 'layer saved', warningHeader(warnings));
  }

  async function post(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const read = readLayer(exchange, format);
    if (!catalog.layer(nameIn(exchange))) {
      throw invalid(
        `Layer ${shortened(nameIn(exchange))} is not known by the configuration.Maybe it was loaded from another source, or you're trying to add a new layer and need to do an HTTP PUT ?`,
      );
    }
    await save(exchange, read);
    return textAnswer(200, '', ['Warning', '299: Deprecated API. Use PUT instead.']);
  }

  async function save(exchange: Exchange, read: ReadDocument): Promise<readonly ReadWarning[]> {
    const former = await editor.show('layer', nameIn(exchange));
    const options = { by: callerName(exchange), dryRun: false, aside: read.kept };
    exchange.change = changeNote(await editor.put('layer', merged(read.document, former), options));
    return read.warnings;
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const name = nameIn(exchange);
    try {
      const options = { by: callerName(exchange), dryRun: false };
      exchange.change = removalNote(await editor.remove('layer', name, options));
    } catch (error) {
      throw isTilewardenError(error, 'entry-unknown') ? unknownLayer(exchange) : error;
    }
    return textAnswer(200, `${name} deleted`);
  }

  /** A plus sign may stand for a space, unless a layer has one. */
  function nameIn(exchange: Exchange): string {
    const name = exchange.param('layer');
    return catalog.layer(name) || !name.includes('+') ? name : name.replaceAll('+', ' ');
  }

  function readLayer(exchange: Exchange, format: DocumentFormat): ReadDocument {
    const read = readGwcLayer(readRoot(exchange, format), catalog.layer(nameIn(exchange)) !== null);
    if (read.document.name !== nameIn(exchange)) {
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

  function unknownLayer(exchange: Exchange): HttpProblem {
    return new HttpProblem('path-unknown', `Unknown layer: ${shortened(nameIn(exchange))}`);
  }
}

function* namesOf(layers: readonly Layer[]): Generator<string> {
  for (const { name } of layers) yield name;
}

/** What GeoWebCache's documents have no word for stays as it was. */
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

/** RFC 7234, 5.5.7: what was accepted, but does not do what it says. */
export function warningHeader(warnings: readonly ReadWarning[]): Headers {
  return warnings
    .slice(0, MOST_WARNINGS)
    .flatMap(({ element, what }) => [
      'Warning',
      `299 - "${headerText(`${element} ${what}`).replaceAll(/["\\]/g, "'")}"`,
    ]);
}

/** `/rest/bounds/{layer}/{gridSet}/java`: which tiles a layer has at each zoom, as a Java program would write it down. */
export function boundsRoutes({ catalog }: { readonly catalog: Pick<Catalog, 'layer'> }): readonly Route[] {
  const path = '/rest/bounds/{layer}/{gridSet}/{type}';
  return [{ method: 'GET', path, role: 'viewer', handler: show }];

  async function show(exchange: Exchange) {
    const [layer, gridSet, type] = ['layer', 'gridSet', 'type'].map((name) => exchange.param(name));
    const bound = catalog.layer(layer ?? '') ?? catalog.layer(layer?.replaceAll('+', ' ') ?? '');
    if (!bound) return refusal('layer-unknown', `Unknown layer: ${shortened(layer ?? '')}`);
    await refuseOthers(exchange, bound.layer);
    const subset = findGridSubset(bound.layer, gridSet ?? '');
    if (!subset) {
      return refusal(
        'layer-unknown',
        `${shortened(layer ?? '')} does not support ${shortened(gridSet ?? '')}`,
      );
    }
    if (type?.toLowerCase() === 'java') return textAnswer(200, coverages(subset));
    return refusal('request-invalid', `Unknown or missing format extension : ${shortened(type ?? '')}`);
  }
}

const NAMES = { 'layer-unknown': 'NOT_FOUND', 'request-invalid': 'BAD_REQUEST' } as const;

/** Scripts know these by GeoWebCache's own words. */
function refusal(code: keyof typeof NAMES, message: string) {
  const status = statusOf(code);
  const text = `org.geowebcache.rest.exception.RestException ${status} ${NAMES[code]}: ${message}`;
  return textAnswer(status, text, ['Cache-Control', 'no-store']);
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

/** `POST /rest/filter/{filter}/update/{xml|zip}`: what is computed from the extent is always up to date. */
export function filterUpdateRoutes({
  catalog,
}: {
  readonly catalog: Pick<Catalog, 'layers'>;
}): readonly Route[] {
  const path = '/rest/filter/{filter}/update/{type}';
  return [{ method: 'POST', path, role: 'operator', handler: update }];

  function update(exchange: Exchange) {
    const name = exchange.param('filter');
    if (!isKnown(name)) {
      throw invalid(
        `No filter by the name ${shortened(name)} was found. Raster filters are kept without effect, and need no update.`,
      );
    }
    const type = exchange.param('type');
    if (!/^(xml|zip)$/i.test(type)) throw invalid(`Unknow update type ${shortened(type)}`);
    return textAnswer(200, 'Filter update completed, no problems encountered.\n');
  }

  function isKnown(name: string): boolean {
    for (const { circularFilter } of catalog.layers()) if (circularFilter === name) return true;
    return false;
  }
}
