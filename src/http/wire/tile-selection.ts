import { type Bounds, boundsOf } from '../../domain/bounds.ts';
import { TilewardenError } from '../../domain/errors.ts';
import { everySubset, findGridSubset, gridSubsetOf, type Layer } from '../../domain/layer.ts';
import { selectParameters } from '../../domain/parameter-filter.ts';
import { shortened } from '../../domain/shortened.ts';
import type { TruncationSelection } from '../../tasks/mass-truncation-selection.ts';
import { areaIn } from '../../tasks/task-area.ts';
import { parametersField } from './read-parameters.ts';
import { coordsField, withoutAbsent } from './seed-request.ts';
import { areaField, readTaskObject } from './task-request.ts';
import { childrenNamed, integerField, textField, textOf, type WireElement } from './wire-element.ts';

const NOTHING: WireElement = { name: '', text: '', children: [], place: { line: 1, column: 1 } };

const FIELDS = [
  'gridSets',
  'formats',
  'parameters',
  'zoomStart',
  'zoomStop',
  'bounds',
  'area',
  'areaCrs',
  'olderThan',
];

/** A field that is misspelt would narrow nothing, and more would go than was meant. */
export function refuseUnknownFields(root: WireElement, known: readonly string[]): void {
  const unknown = root.children.find(({ name }) => !known.includes(name));
  if (unknown) throw refused(`There is no field ${shortened(unknown.name)}; there are ${known.join(', ')}.`);
}

/** A body that says which tiles are meant, with fields of the request's own beside it; no body means all. */
export function readSelectionObject(body: Buffer, ownFields: readonly string[]): WireElement {
  const root = body.length === 0 ? NOTHING : readTaskObject(body);
  refuseEmptyLists(root);
  refuseUnknownFields(root, [...FIELDS, ...ownFields]);
  return root;
}

/** It would narrow nothing. */
function refuseEmptyLists({ emptyLists }: WireElement): void {
  const name = emptyLists?.find((list) => FIELDS.includes(list));
  if (name !== undefined) throw refused(`${name} must not be empty; leave it out for all.`);
}

export function selectionOf(root: WireElement, layer: Layer): TruncationSelection {
  const bounds = boundsField(root);
  const area = areaField(root);
  const gridSets = gridSetsField(root, layer, bounds !== undefined || area !== undefined);
  // Before anything is removed: an area that one of the grid sets cannot take is refused for all.
  for (const name of area ? (gridSets ?? []) : []) areaIn(gridSubsetOf(layer, name).gridSet, area);
  const parameters = parametersField(root);
  const { zoomStart, zoomStop } = zoomsField(root);
  return withoutAbsent({
    gridSets,
    formats: textsField(root, 'formats'),
    parametersId: parameters && selectParameters(layer.parameters, parameters).id,
    zoomStart,
    zoomStop,
    bounds,
    area,
    olderThan: timeField(root, 'olderThan'),
  });
}

/** A place on earth is only known in grid sets that the layer has; elsewhere names of yesterday are welcome. */
function gridSetsField(root: WireElement, layer: Layer, placed: boolean): readonly string[] | undefined {
  const named = textsField(root, 'gridSets');
  if (!placed) return named?.map((name) => findGridSubset(layer, name)?.gridSet.name ?? name);
  if (!named) return everySubset(layer).map(({ gridSet }) => gridSet.name);
  return named.map((name) => gridSubsetOf(layer, name).gridSet.name);
}

const MAX_ZOOM = 30;

export function zoomsField(root: WireElement) {
  const zoomStart = zoomField(root, 'zoomStart');
  const zoomStop = zoomField(root, 'zoomStop');
  if ((zoomStart ?? 0) > (zoomStop ?? MAX_ZOOM)) throw refused('zoomStart must not be above zoomStop.');
  return { zoomStart, zoomStop };
}

function zoomField(root: WireElement, name: string): number | undefined {
  const zoom = integerField(root, name);
  if (zoom === undefined || (zoom >= 0 && zoom <= MAX_ZOOM)) return zoom;
  throw refused(`${name} must be a zoom from 0 to ${MAX_ZOOM}, not ${zoom}.`);
}

export function boundsField(root: WireElement): Bounds | undefined {
  const coords = coordsField(root);
  if (!coords) return undefined;
  const [minX = 0, minY = 0, maxX = 0, maxY = 0] = coords;
  if (minX <= maxX && minY <= maxY) return boundsOf([minX, minY, maxX, maxY]);
  throw refused('bounds must be minX, minY, maxX, maxY with min not above max.');
}

function textsField(root: WireElement, name: string): readonly string[] | undefined {
  const found = childrenNamed(root, name);
  return found.length === 0 ? undefined : found.map(textOf);
}

function timeField(root: WireElement, name: string): number | undefined {
  const text = textField(root, name);
  if (text === undefined) return undefined;
  const time = Date.parse(text);
  if (!Number.isNaN(time)) return time;
  throw refused(`${name} must be a time such as 2026-01-31T12:00:00Z, not "${shortened(text)}".`);
}

function refused(message: string): TilewardenError {
  return new TilewardenError('request-invalid', message);
}
