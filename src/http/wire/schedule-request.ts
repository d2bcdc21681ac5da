import { z } from 'zod';
import { isTilewardenError } from '../../domain/errors.ts';
import { OVERRUNS, SCHEDULED_WORK, type ScheduleDeclaration } from '../../tasks/schedules/schedule.ts';
import { createTimetable } from '../../tasks/schedules/timetable.ts';
import { taskBody, taskDraftOf } from './task-request.ts';

const ANY_TIME = { cron: '@daily', timeZone: 'UTC', hours: null };

/** `POST /api/v1/schedules`: the fields of a task with those that say when. */
export const scheduleBody = taskBody.omit({ idempotencyKey: true, dryRun: true }).extend({
  name: z
    .string()
    .max(200)
    .regex(/^(?=\S)\P{Cc}*(?<=\S)$/u, { error: 'must be printable, without space at either end' })
    .describe('Unique within the layer'),
  type: z.enum(SCHEDULED_WORK).default('seed').describe('What to do'),
  cron: z
    .string()
    .superRefine(readable('cron'))
    .describe('When to run: minute, hour, day of month, month, day of week'),
  timeZone: z
    .string()
    .superRefine(readable('timeZone'))
    .default('UTC')
    .describe('For cron and hours; an IANA name such as Europe/Berlin'),
  hours: z
    .string()
    .superRefine(readable('hours'))
    .nullable()
    .default(null)
    .describe('Work is done within these hours only, e.g. 22:00-06:00; null: at any hour'),
  overrun: z
    .enum(OVERRUNS)
    .default('pause')
    .describe('What happens to a task that is not done when its hours are over'),
  enabled: z.boolean().default(true),
});

export function declarationOf(body: z.output<typeof scheduleBody>): ScheduleDeclaration {
  const { layer, name, cron, timeZone, hours, overrun, enabled, type: work, ...task } = body;
  return { layer, name, cron, timeZone, hours, overrun, enabled, work, draft: taskDraftOf(task) };
}

/** Asks the timetable itself, and hands on what it says without the field's name. */
function readable(field: keyof typeof ANY_TIME) {
  return (text: string, context: z.core.$RefinementCtx<string>) => {
    try {
      createTimetable({ ...ANY_TIME, [field]: text });
    } catch (error) {
      if (!isTilewardenError(error, 'request-invalid')) throw error;
      const message = error.message.replace(`${field} `, '').replace(/, not [^,]*$/, '');
      context.addIssue({ code: 'custom', message });
    }
  };
}
