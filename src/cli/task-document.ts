import { z } from 'zod';
import { readAnswer } from './server-client.ts';

/** What the commands need of a task as `/api/v1/tasks` shows it; the rest is passed on as it is. */
const taskSchema = z.looseObject({
  id: z.number(),
  layer: z.string(),
  type: z.string(),
  state: z.enum(['pending', 'running', 'paused', 'done', 'aborted']),
  tilesProcessed: z.number(),
  tilesTotal: z.number(),
  secondsRemaining: z.number(),
  tilesPerSecond: z.number(),
  reason: z.string().nullable(),
  gridSet: z.string(),
  format: z.string(),
  parameters: z.record(z.string(), z.string()),
  zoomStart: z.number(),
  zoomStop: z.number(),
  threadCount: z.number(),
  counters: z.object({
    made: z.number(),
    present: z.number(),
    removed: z.number(),
    blank: z.number(),
    failed: z.number(),
    bytes: z.number(),
    upstreamRequests: z.number(),
  }),
  errors: z.array(
    z.object({ at: z.string(), z: z.number(), x: z.number(), y: z.number(), message: z.string() }),
  ),
  createdBy: z.string(),
  createdAt: z.string(),
  startedAt: z.string().nullable(),
  endedAt: z.string().nullable(),
});

const taskListSchema = z.object({ tasks: z.array(taskSchema) });

const estimateSchema = z.object({
  tiles: z.number(),
  metatiles: z.number(),
  upstreamRequests: z.number(),
  bytes: z.number().nullable(),
  seconds: z.number().nullable(),
});

export type TaskDocument = z.output<typeof taskSchema>;
export type EstimateDocument = z.output<typeof estimateSchema>;

export const readTask = (value: unknown): TaskDocument => readAnswer(taskSchema, value);
export const readTasks = (value: unknown): readonly TaskDocument[] => readAnswer(taskListSchema, value).tasks;
export const readEstimate = (value: unknown): EstimateDocument => readAnswer(estimateSchema, value);

export function isOver({ state }: TaskDocument): boolean {
  return state === 'done' || state === 'aborted';
}
