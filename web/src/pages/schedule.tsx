import { type ApiBody, type ApiResponse, send } from '../api/client.ts';
import { useAction, useResource } from '../api/use-resource.ts';
import { cronFault, cronText } from '../cron-text.ts';
import {
  coordinateText,
  durationText,
  fill,
  percentText,
  timeText,
  valuesText,
  withLocalTimes,
} from '../format.ts';
import { ActionNotices, Button, Card, Facts, LinkButton, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { layerLink } from '../parts/task-parts.tsx';
import { addressOf, goTo } from '../route.ts';
import { mayWorkOn, useCaller } from '../session.tsx';
import { TASK_TYPES, type TaskRequest } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import type { Faults } from './work-plan.ts';

type Run = ApiResponse<'GET /api/v1/schedules/{id}/runs'>['runs'][number];

const WORDS = TEXTS.schedules;
const REFRESH_SECONDS = 15;
const RUN_BADGES = { started: 'running', held: 'paused', over: 'done', skipped: 'paused', failed: 'failed' };

export function RunBadge({ run: { state } }: { run: Pick<Run, 'state'> }) {
  return <span className={`badge ${RUN_BADGES[state]}`}>{WORDS.states[state]}</span>;
}

export function SchedulePage({ id }: { id: string }) {
  const path = `api/v1/schedules/${encodeURIComponent(id)}`;
  const schedule = useResource<Schedule>(path, REFRESH_SECONDS);
  const runs = useResource<ApiResponse<'GET /api/v1/schedules/{id}/runs'>>(`${path}/runs`, REFRESH_SECONDS);
  const reload = () => {
    schedule.reload();
    runs.reload();
  };
  return (
    <Loaded resource={schedule}>
      {(data) => (
        <>
          <PageHead
            title={data.name}
            under={
              <span className={`badge ${data.enabled ? 'done' : ''}`}>
                {data.enabled ? WORDS.on : WORDS.off}
              </span>
            }
            actions={<Actions schedule={data} onChanged={reload} />}
          />
          <div className="grid">
            <Card title={WORDS.when} className="span-6">
              <WhenFacts schedule={data} />
            </Card>
            <Card title={TEXTS.tasks.request} className="span-6">
              <What schedule={data} />
            </Card>
            <Card title={WORDS.history}>
              <Loaded resource={runs} empty={(response) => response.runs.length === 0 && WORDS.noHistory}>
                {(response) => <Runs runs={response.runs} timeZone={data.timeZone} />}
              </Loaded>
            </Card>
          </div>
        </>
      )}
    </Loaded>
  );
}

function WhenFacts({ schedule }: { schedule: Schedule }) {
  const { cron, timeZone, hours, overrun, nextRuns, enabled } = schedule;
  const expression = (
    <>
      {cronText(cron)} <code className="quiet block">{cron}</code>
    </>
  );
  const next = nextRuns.map((time, place) => (
    <div key={time}>
      {timeText(time, timeZone)} {place === 0 && <span className="quiet">{inTimeText(time)}</span>}
    </div>
  ));
  return (
    <Facts
      of={[
        [WORDS.cron, expression],
        [WORDS.timeZone, timeZone],
        [WORDS.hours, hours === null ? WORDS.anyHour : hours.replace('-', ' – ')],
        [WORDS.overrun, hours === null ? null : WORDS.overruns[overrun]],
        [WORDS.next, next.length > 0 ? next : enabled ? TEXTS.none : WORDS.neverRuns],
      ]}
    />
  );
}

/** E.g. `in 3 h 5 min`. */
export function inTimeText(time: string): string {
  return fill(WORDS.inTime, { time: durationText(Math.max(0, Date.parse(time) - Date.now()) / 1000) });
}

function What({ schedule }: { schedule: Schedule }) {
  const { layer, type, gridSet, format, parameters, bounds, area, areaName, share } = schedule;
  const { threadCount, createdAt, createdBy } = schedule;
  const where = areaName ?? (area === null ? TEXTS.seed.whole : TEXTS.seed.polygons);
  return (
    <Facts
      of={[
        [TEXTS.tasks.type, TEXTS.work[type]],
        [TEXTS.tasks.layer, layerLink(layer)],
        [TEXTS.layer.gridSet, gridSet],
        [TEXTS.layer.format, format],
        [TEXTS.layer.parameters, valuesText(parameters ?? {}) || null],
        [TEXTS.tasks.zooms, zoomsText(schedule)],
        [TEXTS.seed.area, bounds?.map(coordinateText).join(', ') ?? where],
        [TEXTS.seed.byUse, share === null ? null : percentText(share)],
        [TEXTS.tasks.threads, threadCount],
        [
          TEXTS.tasks.created,
          `${timeText(createdAt, schedule.timeZone)} ${fill(TEXTS.tasks.by, { name: createdBy })}`,
        ],
      ]}
    />
  );
}

function zoomsText({ zoomStart, zoomStop }: Schedule): string | null {
  if (zoomStart !== null && zoomStop !== null) return `${zoomStart} – ${zoomStop}`;
  if (zoomStop !== null) return fill(WORDS.upTo, { zoom: zoomStop });
  return zoomStart === null ? null : fill(WORDS.fromZoom, { zoom: zoomStart });
}

function Runs({ runs, timeZone }: { runs: readonly Run[]; timeZone: string }) {
  return (
    <Table
      label={WORDS.history}
      head={[WORDS.due, TEXTS.tasks.started, TEXTS.audit.outcome, WORDS.task]}
      rows={runs.map((run) => [
        `${run.dueAt} ${run.at}`,
        timeText(run.dueAt, timeZone),
        timeText(run.at, timeZone),
        <>
          <RunBadge run={run} /> <span>{run.detail && withLocalTimes(run.detail, timeZone)}</span>
        </>,
        run.taskId !== null && <a href={addressOf('tasks', String(run.taskId))}>#{run.taskId}</a>,
      ])}
    />
  );
}

function Actions({ schedule, onChanged }: { schedule: Schedule; onChanged: () => void }) {
  const caller = useCaller();
  const action = useAction();
  if (!mayWorkOn(caller, schedule.layer)) return null;
  const path = `api/v1/schedules/${schedule.id}`;
  const run = async () => {
    const { taskId } = await send<Run>('POST', `${path}/run`);
    onChanged();
    return taskId === null ? WORDS.ran : fill(WORDS.started, { id: taskId });
  };
  const toggle = () => send('PUT', path, { ...bodyOf(schedule), enabled: !schedule.enabled }).then(onChanged);
  return (
    <>
      <ActionNotices action={action} />
      <Button disabled={action.busy} onClick={() => action.run(run)}>
        {WORDS.runNow}
      </Button>
      {schedule.origin === 'configuration' ? (
        <span className="quiet small">{WORDS.fromFile}</span>
      ) : (
        <>
          <Button disabled={action.busy} onClick={() => action.run(toggle)}>
            {schedule.enabled ? TEXTS.disable : TEXTS.enable}
          </Button>
          <LinkButton href={addressOf('schedules', String(schedule.id), { edit: '' })}>
            {TEXTS.edit}
          </LinkButton>
          <ConfirmButton
            action={action}
            title={fill(TEXTS.removeTitle, { name: schedule.name })}
            verb={TEXTS.remove}
            text={WORDS.removeText}
            onConfirm={() => send('DELETE', path).then(() => goTo(addressOf('schedules')))}
          />
        </>
      )}
    </>
  );
}

export type Schedule = ApiResponse<'GET /api/v1/schedules/{id}'>;
type ScheduleBody = ApiBody<'POST /api/v1/schedules'>;

const NIGHTLY = '0 22 * * *';
export const SCHEDULED_WORK = [...TASK_TYPES, 'invalidate'] as const;

export type When = Readonly<ReturnType<typeof whenOf>>;

/** `from` and `until`: `HH:MM`, or empty: at any hour. */
export function whenOf(schedule: Schedule | null) {
  const [from = '', until = ''] = schedule?.hours?.split('-') ?? [];
  return {
    name: schedule?.name ?? '',
    cron: schedule?.cron ?? NIGHTLY,
    timeZone: schedule?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    from,
    until,
    overrun: schedule?.overrun ?? 'pause',
    enabled: schedule?.enabled ?? true,
  };
}

export function whenFaults({ name, cron, from, until }: When): Faults {
  const wrong = cronFault(cron);
  return {
    ...(name.trim() === '' && { name: WORDS.nameMissing }),
    ...(wrong !== null && { cron: wrong }),
    ...((from === '') !== (until === '') && { hours: WORDS.bothHours }),
  };
}

/** The body that saves the request with its times; settings without a field stay as they are in `schedule`. */
export function scheduleBody(
  { name, cron, timeZone, from, until, overrun, enabled }: When,
  request: TaskRequest,
  schedule: Schedule | null,
): ScheduleBody {
  const settings: Partial<ScheduleBody> = schedule ? bodyOf(schedule) : {};
  const { hours, bounds, area, areaCrs, order, share, ...kept } = settings;
  const type = SCHEDULED_WORK.find((one) => one === request.type) ?? 'seed';
  const times = { cron, timeZone, overrun, enabled, ...(from !== '' && { hours: `${from}-${until}` }) };
  return { ...kept, ...request, type, name: name.trim(), ...times };
}

/** The body that leaves a schedule as it is. */
function bodyOf(schedule: Schedule): ScheduleBody {
  const { id, origin, createdBy, createdAt, nextRuns, lastRun, areaName, ...settings } = schedule;
  const entries = Object.entries(settings).filter(([, value]) => value !== null);
  return Object.fromEntries(entries) as unknown as ScheduleBody;
}
