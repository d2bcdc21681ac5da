import { z } from 'zod';
import type { Catalog } from '../../catalog/catalog.ts';
import { refuseUnknownParameters } from '../../domain/parameter-filter.ts';
import { TASK_TYPES } from '../../tasks/task.ts';
import type { TaskDraft } from '../../tasks/task-draft.ts';
import { AREA_FIELDS, areaOf, bounds, flag, name, parameters } from './body-values.ts';

const usual = 'as usual when absent or -1';
const zoom = z.int().min(0);

/** `POST /api/v1/tasks` */
export const taskBody = z.strictObject({
  layer: name,
  type: z.enum(TASK_TYPES).default('seed'),
  gridSet: name.exactOptional().describe("The layer's first when absent"),
  format: name.exactOptional().describe("The layer's first when absent"),
  zoomStart: zoom.exactOptional().describe("The layer's first when absent"),
  zoomStop: zoom.exactOptional().describe("The layer's last when absent or greater"),
  bounds: bounds.exactOptional(),
  ...AREA_FIELDS,
  parameters: parameters.exactOptional().describe('Those left out have their defaults; all when absent'),
  threadCount: z.int().exactOptional().describe('Of truncate always 1'),
  priority: z.int().min(-10).max(10).exactOptional().describe('Higher goes first; 0 when absent'),
  tileFailureRetryCount: z.int().min(-1).exactOptional().describe(usual),
  tileFailureRetryWaitTime: z.int().min(-1).exactOptional().describe(`Milliseconds; ${usual}`),
  totalFailuresBeforeAborting: z.int().min(-1).exactOptional().describe(usual),
  idempotencyKey: name.exactOptional().describe('A second request with the same key answers the first task'),
  dryRun: flag.describe('Only answers what the task would be'),
});

export type TaskBody = z.output<typeof taskBody>;

export function taskDraftOf(
  body: Omit<TaskBody, 'type' | 'dryRun' | 'layer'>,
): Omit<TaskDraft, 'type' | 'layer'> {
  const { gridSet, bounds: coords, area: _, areaCrs: __, parameters: values, ...plain } = body;
  const area = areaOf(body);
  return {
    ...plain,
    ...(gridSet !== undefined && { gridSetId: gridSet }),
    ...(coords && { coords }),
    ...(area && { area }),
    ...(values && { parameters: new Map(Object.entries(values)) }),
  };
}

/** Names of parameters that the layer does not have; of a layer that is not there, somebody else will tell. */
export function refuseUnknownNames(
  catalog: Pick<Catalog, 'layer'>,
  { layer, parameters: given }: Pick<TaskDraft, 'layer' | 'parameters'>,
): void {
  const bound = catalog.layer(layer);
  if (bound && given) refuseUnknownParameters(bound.layer.parameters, given);
}
