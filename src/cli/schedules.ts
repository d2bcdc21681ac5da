import type { ApiResponse } from '../app.ts';
import { CLIENT_FLAGS, type Command, flag, printed } from './command.ts';
import { columns, withLocalTimes } from './format.ts';
import { readResponse, serverClientFor } from './server-client.ts';

type ScheduleList = ApiResponse<'GET /api/v1/schedules'>;
export type ScheduleDocument = ScheduleList['schedules'][number];

export const schedules: Command = {
  name: 'schedules',
  summary: 'list the schedules of the server, their next and last runs',
  flags: [
    flag('layer', 'NAME', 'list schedules of this layer'),
    flag('json', null, 'print JSON, for scripts'),
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal) {
    const answer = await serverClientFor(flags).get('/api/v1/schedules');
    const all = readResponse<ScheduleList>(answer, 'schedules').schedules;
    const selection = all.filter(({ layer }) => flags.layer === undefined || layer === flags.layer);
    return printed(terminal, flags, { schedules: selection }, () =>
      selection.length === 0 ? 'No schedules.' : scheduleTable(selection),
    );
  },
};

const HEADINGS = ['ID', 'LAYER', 'NAME', 'TYPE', 'CRON', 'TIME ZONE', 'NEXT RUN', 'LAST RUN'];

/** Times are those of `timeZone`; of this machine when it is absent. */
export function scheduleTable(documents: readonly ScheduleDocument[], timeZone?: string): string {
  const rows = documents.map((schedule) => {
    const { id, layer, name, type, cron, timeZone: own, enabled, nextRuns } = schedule;
    const next = enabled ? withLocalTimes(nextRuns[0] ?? 'never', timeZone) : 'disabled';
    return [String(id), layer, name, type, cron, own, next, lastRunOf(schedule)];
  });
  return columns([HEADINGS, ...rows], ['ID']);
}

function lastRunOf({ lastRun }: ScheduleDocument): string {
  if (lastRun === null) return 'never';
  return lastRun.taskId === null ? lastRun.state : `${lastRun.state} (task ${lastRun.taskId})`;
}
