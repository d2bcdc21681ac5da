import type { ApiResponse } from '../app.ts';
import { hintFor } from '../lib/closest-name.ts';
import { CLIENT_FLAGS, type Command, type FlagValues, flag, misuse, printed } from './command.ts';
import {
  failureLines,
  isOver,
  outcomeText,
  progressFacts,
  stateText,
  type TaskDocument,
  watchTask,
} from './follow-task.ts';
import { columns, countText, durationText, withLocalTimes } from './format.ts';
import { readResponse, type ServerClient, serverClientFor } from './server-client.ts';

const ACTIONS = ['list', 'show', 'watch', 'stop', 'pause', 'resume', 'retry'] as const;
type Action = (typeof ACTIONS)[number];

export const tasks: Command = {
  name: 'tasks',
  summary: 'list, show, watch, stop, pause, resume and retry tasks',
  operands: { usage: `[list | ${ACTIONS.slice(1).join(' | ')} ID]`, least: 0, most: 2 },
  flags: [
    flag('all', null, 'list finished tasks too'),
    flag('layer', 'NAME', 'list tasks of this layer'),
    flag('limit', 'N', 'list at most N tasks, newest first (50)'),
    flag('json', null, 'print lines of JSON, for scripts'),
    ...CLIENT_FLAGS,
  ],
  async run(flags, terminal, { operands: [word = 'list', id] }) {
    const action = actionNamed(word);
    const client = serverClientFor(flags, { limit: 'limit' });
    if (action === 'list') {
      terminal.out(await listText(client, flags));
      return 0;
    }
    const path = `/api/v1/tasks/${taskId(action, id)}`;
    if (action === 'watch') {
      return await watchTask(taskIn(await client.get(path)), client, terminal, flags.json !== undefined);
    }
    const verb = action === 'stop' ? 'cancel' : action;
    const answer = action === 'show' ? await client.get(path) : await client.post(`${path}/${verb}`);
    const task = taskIn(answer);
    return printed(terminal, flags, task, () => actionResult(action, task));
  },
};

async function listText(client: ServerClient, flags: FlagValues): Promise<string> {
  const query = new URLSearchParams({
    ...(flags.all === undefined && { state: 'pending,running,paused' }),
    ...(flags.layer !== undefined && { layer: flags.layer }),
    ...(flags.limit !== undefined && { limit: flags.limit }),
  });
  const answer = await client.get(`/api/v1/tasks?${query}`);
  const { tasks: listing } = readResponse<ApiResponse<'GET /api/v1/tasks'>>(answer, 'tasks');
  if (flags.json !== undefined) return listing.map((task) => `${JSON.stringify(task)}\n`).join('');
  const none = flags.all === undefined ? 'No active tasks. --all lists finished tasks too.' : 'No tasks.';
  return listing.length === 0 ? `${none}\n` : taskTable(listing);
}

function taskIn(answer: unknown): TaskDocument {
  return readResponse<TaskDocument>(answer, 'tilesTotal');
}

function actionResult(action: Action, task: TaskDocument): string {
  if (action === 'retry')
    return `Task ${task.id} retries the failed tiles: tilewarden tasks watch ${task.id}`;
  if (action === 'pause') return `Task ${task.id} is paused: tilewarden tasks resume ${task.id}`;
  if (action === 'resume') return `Task ${task.id} resumed: tilewarden tasks watch ${task.id}`;
  return describeTask(task);
}

function actionNamed(word: string): Action {
  const action = ACTIONS.find((name) => name === word);
  if (action) return action;
  throw misuse(`Unknown action ${word}; ${hintFor(word, ACTIONS)}`);
}

function taskId(action: Action, id: string | undefined): string {
  if (id !== undefined && /^\d{1,15}$/.test(id)) return id;
  throw misuse(
    `${action} needs the number of a task, e.g. tilewarden tasks ${action} 7. tilewarden tasks lists them.`,
  );
}

const HEADINGS = ['ID', 'LAYER', 'TYPE', 'STATE', 'TILES', 'TOTAL', 'FAILED', 'LEFT', 'STARTED BY'];
const RIGHT_ALIGNED = ['ID', 'TILES', 'TOTAL', 'FAILED', 'LEFT'];

export function taskTable(tasks: readonly TaskDocument[]): string {
  return columns([HEADINGS, ...tasks.map(taskRow)], RIGHT_ALIGNED);
}

/** The most important facts about one task. */
export function describeTask(task: TaskDocument): string {
  const parameters = Object.entries(task.parameters).map(([name, value]) => `${name}=${value}`);
  const what = [task.gridSet, `zoom ${task.zoomStart} to ${task.zoomStop}`, task.format, ...parameters];
  const threads = `${task.threadCount} thread${task.threadCount === 1 ? '' : 's'}`;
  const head = isOver(task)
    ? outcomeText(task)
    : `Task ${task.id}, ${task.type} ${task.layer}, is ${task.state}\n  ${progressFacts(task)}`;
  const lines = [
    head,
    `  ${what.join(' · ')} · ${threads}`,
    `  requested by ${task.createdBy} at ${withLocalTimes(task.createdAt)}`,
  ];
  const failures = isOver(task) ? [] : failureLines(task.errors);
  return [...lines, ...failures].join('\n');
}

function taskRow(task: TaskDocument): readonly string[] {
  return [
    String(task.id),
    task.layer,
    task.type,
    stateText(task),
    ...(task.type === 'truncate'
      ? [countText(task.counters.removed), '']
      : [countText(task.tilesProcessed), countText(task.tilesTotal)]),
    countText(task.counters.failed),
    task.state === 'running' && task.secondsRemaining >= 0 ? durationText(task.secondsRemaining) : '',
    task.createdBy,
  ];
}

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

const SCHEDULE_HEADINGS = ['ID', 'LAYER', 'NAME', 'TYPE', 'CRON', 'TIME ZONE', 'NEXT RUN', 'LAST RUN'];

/** Times in `timeZone`; in that of this machine by default. */
export function scheduleTable(documents: readonly ScheduleDocument[], timeZone?: string): string {
  const rows = documents.map((schedule) => {
    const { id, layer, name, type, cron, timeZone: own, enabled, nextRuns } = schedule;
    const next = enabled ? withLocalTimes(nextRuns[0] ?? 'never', timeZone) : 'disabled';
    return [String(id), layer, name, type, cron, own, next, lastRunOf(schedule)];
  });
  return columns([SCHEDULE_HEADINGS, ...rows], ['ID']);
}

function lastRunOf({ lastRun }: ScheduleDocument): string {
  if (lastRun === null) return 'never';
  return lastRun.taskId === null ? lastRun.state : `${lastRun.state} (task ${lastRun.taskId})`;
}
