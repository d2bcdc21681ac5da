import { z } from 'zod';
import { scheduleBody } from '../http/wire/schedule-request.ts';
import { SCHEDULED_WORK } from '../tasks/schedules/schedule.ts';

/** What `POST /api/v1/schedules` takes, below the layer it is for; polygons are drawn in the console. */
export const scheduleSchema = scheduleBody
  .omit({
    layer: true,
    area: true,
    areaCrs: true,
    tileFailureRetryCount: true,
    tileFailureRetryWaitTime: true,
    totalFailuresBeforeAborting: true,
  })
  .extend({ type: z.enum(SCHEDULED_WORK).describe('What to do') });
