import { isTilewardenError, shortened } from '../../domain/errors.ts';
import { readGwcGridSet, writeGwcGridSet } from '../../geowebcache/grid-set-document.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import { type Answer, textAnswer } from '../answer.ts';
import { changeNote, removalNote } from '../api/catalog-changes.ts';
import { callerName, type Exchange } from '../exchange.ts';
import { HttpProblem } from '../problems.ts';
import type { Route } from '../route.ts';
import type { RouteDeps } from '../route-deps.ts';
import { keptIn, roleFor, warningHeader } from './layers.ts';
import { documentAnswer, listAnswer, readRoot, resourceRoutes } from './representation.ts';

const PATH = '/rest/gridsets';

/** `/rest/gridsets` and `/rest/gridsets/{gridSet}`, as GeoWebCache's clients know them. */
export function restGridSetRoutes({ catalog, editor }: RouteDeps): readonly Route[] {
  return [
    ...resourceRoutes({ path: PATH, role: roleFor, what: 'the grid sets', handlers: { GET: list } }),
    ...resourceRoutes({
      path: `${PATH}/{gridSet}`,
      role: roleFor,
      what: 'a grid set',
      handlers: { GET: show, PUT: put, DELETE: remove },
    }),
  ];

  function list(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const names = catalog.gridSets.gridSets.map(({ name }) => name);
    return listAnswer(exchange, format, { names, entry: 'gridSet', path: PATH });
  }

  async function show(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const gridSet = catalog.gridSets.find(exchange.param('gridSet'));
    if (!gridSet) throw unknown('get', exchange);
    const entry = await editor.show('grid-set', gridSet.name);
    return documentAnswer(writeGwcGridSet(gridSet, entry?.document, keptIn(entry)), format);
  }

  /** Stored under the name in the body, as in GeoWebCache, whose user guide puts `EPSG:2163` to `gridSet1.xml`. */
  async function put(exchange: Exchange, format: DocumentFormat): Promise<Answer> {
    const { document, kept, warnings } = readGwcGridSet(readRoot(exchange, format));
    const options = { by: callerName(exchange), dryRun: false, aside: kept };
    const change = await editor.put('grid-set', document, options);
    exchange.change = changeNote(change);
    return textAnswer(change.created ? 201 : 200, '', warningHeader(warnings));
  }

  async function remove(exchange: Exchange): Promise<Answer> {
    const name = exchange.param('gridSet');
    try {
      const options = { by: callerName(exchange), dryRun: false };
      exchange.change = removalNote(await editor.remove('grid-set', name, options));
    } catch (error) {
      throw isTilewardenError(error, 'entry-unknown') ? unknown('remove', exchange) : error;
    }
    return textAnswer(200, '');
  }
}

function unknown(verb: 'get' | 'remove', exchange: Exchange): HttpProblem {
  const name = shortened(exchange.param('gridSet'));
  return new HttpProblem(
    'path-unknown',
    `Failed to ${verb} GridSet. A GridSet with name "${name}" does not exist.`,
  );
}
