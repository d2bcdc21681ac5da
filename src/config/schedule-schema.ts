import { z } from 'zod';
import { DAILY_HOURS } from '../lib/daily-hours.ts';
import { OVERRUNS, SCHEDULED_WORK, type ScheduleDeclaration } from '../tasks/schedules/schedule.ts';
import { createTimetable } from '../tasks/schedules/timetable.ts';
import { extentSchema } from './grid-set-schema.ts';

const ANY_TIME = { cron: '@daily', timeZone: 'UTC', hours: null };

export const scheduleSchema = z.strictObject({
  name: z.string().min(1).max(200).describe('Unique within the layer'),
  cron: z
    .string()
    .refine((cron) => isReadable({ ...ANY_TIME, cron }), {
      error: 'must have five fields: minute, hour, day of month, month, day of week, e.g. "0 22 * * *"',
    })
    .describe('When to run: minute, hour, day of month, month, day of week'),
  timeZone: z
    .string()
    .refine((timeZone) => isReadable({ ...ANY_TIME, timeZone }), {
      error: 'must be an IANA time zone such as Europe/Berlin',
    })
    .default('UTC')
    .describe('For cron and hours'),
  hours: z
    .string()
    .regex(DAILY_HOURS, { error: 'must be hours such as 22:00-06:00' })
    .nullable()
    .default(null)
    .describe('Work is done within these hours only, e.g. 22:00-06:00; null: at any hour'),
  overrun: z
    .enum(OVERRUNS)
    .default('pause')
    .describe('What happens to a task that is not done when its hours are over'),
  enabled: z.boolean().default(true),
  type: z.enum(SCHEDULED_WORK).describe('What to do'),
  gridSet: z.string().optional().describe("The layer's first when absent"),
  format: z.string().optional().describe("The layer's first when absent"),
  zoomStart: z.int().min(0).max(30).optional(),
  zoomStop: z.int().min(0).max(30).optional(),
  bounds: extentSchema.optional().describe("In the grid set's CRS; the whole layer when absent"),
  parameters: z.record(z.string(), z.string()).optional(),
  threadCount: z.int().min(1).max(1024).optional(),
  priority: z.int().min(-10).max(10).optional(),
});

function isReadable(times: Parameters<typeof createTimetable>[0]): boolean {
  try {
    createTimetable(times);
    return true;
  } catch {
    return false;
  }
}

export function toSchedule(layer: string, given: z.output<typeof scheduleSchema>): ScheduleDeclaration {
  const { name, cron, timeZone, hours, overrun, enabled, type, gridSet, bounds, parameters, ...rest } = given;
  const draft = {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    ...(gridSet !== undefined && { gridSetId: gridSet }),
    ...(bounds && { coords: bounds }),
    ...(parameters && { parameters: new Map(Object.entries(parameters)) }),
  };
  return { layer, name, cron, timeZone, hours, overrun, enabled, work: type, draft };
}
