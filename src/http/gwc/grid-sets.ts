import { isTilewardenError, shortened } from '../../domain/errors.ts';
import { readGwcGridSet, writeGwcGridSet } from '../../geowebcache/grid-set-document.ts';
import type { DocumentFormat } from '../../geowebcache/read-document.ts';
import type { ApiDeps, Call } from '../api/api-route.ts';
import { changeNote, removalNote } from '../api/catalog-changes.ts';
import { HttpProblem } from '../problems.ts';
import { textResponse } from '../response.ts';
import { keptIn, warningHeader } from './layers.ts';
import { documentResponse, listResponse, readRoot } from './representation.ts';

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
