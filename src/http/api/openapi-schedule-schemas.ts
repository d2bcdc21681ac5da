import { z } from 'zod';
import { OVERRUNS, RUN_STATES, SCHEDULED_WORK } from '../../tasks/schedules/schedule.ts';
import { AREA_CRS } from '../wire/body-values.ts';
import { area, bounds, time } from './openapi-values.ts';

export const runAnswer = z.object({
  dueAt: time,
  at: time,
  state: z.enum(RUN_STATES),
  taskId: z.number().int().nullable(),
  detail: z.string().nullable(),
});

export const scheduleAnswer = z.object({
  id: z.number().int(),
  layer: z.string(),
  name: z.string(),
  type: z.enum(SCHEDULED_WORK),
  cron: z.string(),
  timeZone: z.string(),
  hours: z.string().nullable(),
  overrun: z.enum(OVERRUNS),
  enabled: z.boolean(),
  origin: z.enum(['configuration', 'interface']),
  gridSet: z.string().nullable(),
  format: z.string().nullable(),
  parameters: z.record(z.string(), z.string()).nullable(),
  zoomStart: z.number().int().nullable(),
  zoomStop: z.number().int().nullable(),
  bounds: bounds.nullable(),
  area: area.nullable(),
  areaCrs: z.enum(AREA_CRS).nullable(),
  threadCount: z.number().int().nullable(),
  priority: z.number().int().nullable(),
  tileFailureRetryCount: z.number().int().nullable(),
  tileFailureRetryWaitTime: z.number().int().nullable(),
  totalFailuresBeforeAborting: z.number().int().nullable(),
  nextRuns: z.array(time),
  lastRun: runAnswer.nullable(),
  createdBy: z.string(),
  createdAt: time,
});

export const scheduleListAnswer = z.object({ schedules: z.array(scheduleAnswer) });
export const runListAnswer = z.object({ runs: z.array(runAnswer) });
