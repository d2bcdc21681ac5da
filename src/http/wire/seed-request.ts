import type { TaskDraft } from '../../tasks/task-draft.ts';
import { type DocumentFormat, readDocumentNamed } from './read-document.ts';
import { parametersField, refuseEmptyParameters } from './read-parameters.ts';
import {
  bodyProblem,
  childrenNamed,
  integerField,
  numberOf,
  onlyChild,
  refuseUnknownFields,
  textField,
  type WireElement,
} from './wire-element.ts';

const FIELDS = [
  'name',
  'srs',
  'gridSetId',
  'bounds',
  'zoomStart',
  'zoomStop',
  'format',
  'type',
  'threadCount',
  'parameters',
  'filterUpdate',
  'tileFailureRetryCount',
  'tileFailureRetryWaitTime',
  'totalFailuresBeforeAborting',
];

/** A seed request as GeoWebCache's clients send it. The layer is the one of the path; `name` in the body does not matter. */
export function readSeedRequest(body: Buffer, format: DocumentFormat, layer: string): TaskDraft {
  const { root, document } = readDocumentNamed(body, format, 'seedRequest');
  const type = textField(root, 'type');
  if (type?.toLowerCase() === 'truncate') {
    refuseUnknownFields(root, FIELDS);
    refuseEmptyParameters(root);
    refuseUnknownFields({ ...document, name: 'the body' }, ['seedRequest']);
  }
  const fields = {
    type,
    gridSetId: textField(root, 'gridSetId'),
    srs: srsField(root),
    coords: coordsField(root),
    zoomStart: integerField(root, 'zoomStart'),
    zoomStop: integerField(root, 'zoomStop'),
    format: textField(root, 'format'),
    threadCount: integerField(root, 'threadCount'),
    parameters: parametersField(root),
    tileFailureRetryCount: integerField(root, 'tileFailureRetryCount'),
    tileFailureRetryWaitTime: integerField(root, 'tileFailureRetryWaitTime'),
    totalFailuresBeforeAborting: integerField(root, 'totalFailuresBeforeAborting'),
  };
  return { layer, ...withoutAbsent(fields) };
}

function srsField(root: WireElement): number | undefined {
  const srs = onlyChild(root, 'srs');
  if (!srs) return undefined;
  const number = integerField(srs, 'number');
  if (number !== undefined) return number;
  throw bodyProblem('srs must have a number, e.g. 4326', srs.place);
}

/** `bounds` with `coords` with four `double`; in JSON also four numbers in a list, under `coords` or right under `bounds`. */
export function coordsField(root: WireElement): readonly number[] | undefined {
  const bounds = childrenNamed(root, 'bounds');
  const [first] = bounds;
  if (!first) return undefined;
  const coords = bounds.flatMap((one) => childrenNamed(one, 'coords'));
  const doubles = coords.flatMap((one) => childrenNamed(one, 'double'));
  const numbers = [doubles, coords, bounds].find((list) => list.length > 0) ?? [];
  if (numbers.length === 4) return numbers.map(numberOf);
  const given = first.nothing ? `, not ${first.nothing}` : '';
  throw bodyProblem(`bounds must have four numbers: minX, minY, maxX, maxY${given}`, first.place);
}

type WithoutUndefined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

export function withoutAbsent<T extends object>(fields: T): WithoutUndefined<T> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as WithoutUndefined<T>;
}
