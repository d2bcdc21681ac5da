import type { TaskDraft } from '../../tasks/task-draft.ts';
import { polygonsOf } from './geo-json.ts';
import { readJsonObject } from './read-document.ts';
import { taskFields, withoutAbsent } from './seed-request.ts';
import { bodyProblem, integerField, onlyChild, textField, type WireElement } from './wire-element.ts';

/** An area has many numbers; the body's size bounds them too. */
const LIMITS = { depth: 20, elements: 40_000 };

export interface TaskRequestDocument {
  readonly draft: TaskDraft;
  /** Only tell what it would be. */
  readonly dryRun: boolean;
}

/** `POST /api/v1/tasks`: the fields of a seed request without its wrapping, and what only our interface has. */
export function readTaskRequest(body: Buffer): TaskRequestDocument {
  const root = readTaskObject(body);
  const key = withoutAbsent({ idempotencyKey: textField(root, 'idempotencyKey') });
  return { draft: { ...taskDraftOf(root), ...key }, dryRun: booleanField(root, 'dryRun') ?? false };
}

export function readTaskObject(body: Buffer): WireElement {
  return readJsonObject(body, LIMITS);
}

/** What is to be done, and on which layer. */
export function taskDraftOf(root: WireElement): TaskDraft {
  const layer = textField(root, 'layer');
  if (layer === undefined) throw bodyProblem('layer is missing', root.place);
  const own = withoutAbsent({
    gridSetId: textField(root, 'gridSet') ?? textField(root, 'gridSetId'),
    area: areaField(root),
    priority: integerField(root, 'priority'),
  });
  return { layer, ...taskFields(root), ...own };
}

/** `area` and `areaCrs`. */
export function areaField(root: WireElement): TaskDraft['area'] {
  const area = onlyChild(root, 'area');
  if (!area) return undefined;
  return { polygons: polygonsOf(area), crs: crsField(root) };
}

function crsField(root: WireElement): 'grid-set' | 'EPSG:4326' {
  const crs = textField(root, 'areaCrs') ?? 'EPSG:4326';
  if (crs === 'grid-set' || crs === 'EPSG:4326') return crs;
  throw bodyProblem('areaCrs must be EPSG:4326 or grid-set', root.place);
}

export function booleanField(root: WireElement, name: string): boolean | undefined {
  const text = textField(root, name);
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw bodyProblem(`${name} must be true or false`, onlyChild(root, name)?.place ?? root.place);
}
