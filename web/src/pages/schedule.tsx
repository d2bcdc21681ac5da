import { useState } from 'react';
import { type Answer, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { type Resource, useResource } from '../api/use-resource.ts';
import { cronText } from '../cron-text.ts';
import { coordinateText, durationText, timeText, withLocalTimes } from '../format.ts';
import { ActionNotices, Card, Empty, Fact, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { addressOf, goTo } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { type Schedule, switchedBody } from './schedule-draft.ts';

type Run = Answer<'/api/v1/schedules/{id}/runs'>['runs'][number];

const WORDS = TEXTS.schedules;
const REFRESH_SECONDS = 15;
const RUN_BADGES = { started: 'running', held: 'paused', over: 'done', skipped: 'paused', failed: 'failed' };

export function RunBadge({ run: { state } }: { readonly run: Pick<Run, 'state'> }) {
  return <span className={`badge ${RUN_BADGES[state]}`}>{WORDS.states[state]}</span>;
}

export function SchedulePage({ id }: { readonly id: string }) {
  const path = `api/v1/schedules/${encodeURIComponent(id)}`;
  const schedule = useResource<Schedule>(path, REFRESH_SECONDS);
  const runs = useResource<Answer<'/api/v1/schedules/{id}/runs'>>(`${path}/runs`, REFRESH_SECONDS);
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
              <When schedule={data} />
            </Card>
            <Card title={WORDS.what} className="span-6">
              <What schedule={data} />
            </Card>
            <Card title={WORDS.history} className="span-12">
              <History resource={runs} timeZone={data.timeZone} />
            </Card>
          </div>
        </>
      )}
    </Loaded>
  );
}

function When({ schedule }: { readonly schedule: Schedule }) {
  const { cron, timeZone, hours, overrun, nextRuns, enabled } = schedule;
  const words = cronText(cron);
  return (
    <dl className="facts">
      <Fact label={WORDS.cron}>
        {words} <code className="quiet">{cron}</code>
      </Fact>
      <Fact label={WORDS.timeZone}>{timeZone}</Fact>
      <Fact label={WORDS.hours}>{hours === null ? WORDS.anyHour : hours.replace('-', ' – ')}</Fact>
      <Fact label={WORDS.overrun}>{hours === null ? null : WORDS.overruns[overrun]}</Fact>
      <Fact label={WORDS.next}>
        {nextRuns.length === 0 && (enabled ? WORDS.noneComes : WORDS.neverRuns)}
        {nextRuns.map((time, place) => (
          <div key={time}>
            {timeText(time, timeZone)}
            {place === 0 && (
              <span className="quiet">
                {' '}
                {WORDS.inTime(durationText(Math.max(0, Date.parse(time) - Date.now()) / 1000))}
              </span>
            )}
          </div>
        ))}
      </Fact>
    </dl>
  );
}

function What({ schedule }: { readonly schedule: Schedule }) {
  const { layer, type, gridSet, format, parameters, bounds, threadCount } = schedule;
  const values = Object.entries(parameters ?? {}).map(([name, value]) => `${name}=${value}`);
  return (
    <dl className="facts">
      <Fact label={TEXTS.tasks.type}>{TEXTS.work[type]}</Fact>
      <Fact label={TEXTS.tasks.layer}>
        <a href={addressOf('layers', layer)}>{layer}</a>
      </Fact>
      <Fact label={TEXTS.layer.gridSet}>{gridSet}</Fact>
      <Fact label={TEXTS.layer.format}>{format}</Fact>
      <Fact label={TEXTS.layer.parameters}>{values.length === 0 ? null : values.join(', ')}</Fact>
      <Fact label={TEXTS.tasks.zooms}>{zoomsText(schedule)}</Fact>
      <Fact label={TEXTS.seed.area}>{bounds?.map(coordinateText).join(', ') ?? areaText(schedule)}</Fact>
      <Fact label={TEXTS.tasks.threads}>{threadCount}</Fact>
      <Fact label={TEXTS.tasks.created}>
        {timeText(schedule.createdAt)} {TEXTS.tasks.by(schedule.createdBy)}
      </Fact>
    </dl>
  );
}

function zoomsText({ zoomStart, zoomStop }: Schedule): string | null {
  if (zoomStart !== null && zoomStop !== null) return `${zoomStart} – ${zoomStop}`;
  if (zoomStop !== null) return WORDS.upTo(zoomStop);
  return zoomStart === null ? null : WORDS.fromZoom(zoomStart);
}

function areaText({ area }: Schedule): string {
  return area === null ? TEXTS.seed.whole : TEXTS.seed.polygons;
}

function History({
  resource,
  timeZone,
}: {
  readonly resource: Resource<{ readonly runs: readonly Run[] }>;
  readonly timeZone: string;
}) {
  return (
    <Loaded resource={resource}>
      {({ runs }) =>
        runs.length === 0 ? <Empty>{WORDS.noHistory}</Empty> : <Runs runs={runs} timeZone={timeZone} />
      }
    </Loaded>
  );
}

function Runs({ runs, timeZone }: { readonly runs: readonly Run[]; readonly timeZone: string }) {
  return (
    <Table label={WORDS.history} head={[WORDS.due(timeZone), WORDS.began, WORDS.outcome, WORDS.task]}>
      {runs.map((run) => (
        <tr key={`${run.dueAt} ${run.at}`}>
          <td>{timeText(run.dueAt, timeZone)}</td>
          <td>{timeText(run.at, timeZone)}</td>
          <td>
            <RunBadge run={run} /> {run.detail && withLocalTimes(run.detail, timeZone)}
          </td>
          <td>{run.taskId !== null && <a href={addressOf('tasks', String(run.taskId))}>#{run.taskId}</a>}</td>
        </tr>
      ))}
    </Table>
  );
}

function Actions({ schedule, onChanged }: { readonly schedule: Schedule; readonly onChanged: () => void }) {
  const caller = useCaller();
  const action = useAction();
  const [asking, setAsking] = useState(false);
  if (!may(caller, 'operator')) return null;
  const path = `api/v1/schedules/${schedule.id}`;
  const run = () =>
    action.run(async () => {
      const { taskId } = await send<Run>('POST', `${path}/run`);
      onChanged();
      return taskId === null ? WORDS.ran : WORDS.started(taskId);
    });
  const toggle = () =>
    action.run(async () => {
      await send('PUT', path, switchedBody(schedule));
      onChanged();
      return null;
    });
  const remove = () =>
    action.run(async () => {
      await send('DELETE', path);
      goTo(addressOf('schedules'));
      return null;
    });
  return (
    <>
      <ActionNotices action={action} />
      <button type="button" disabled={action.busy} onClick={() => void run()}>
        {WORDS.runNow}
      </button>
      {schedule.origin === 'configuration' ? (
        <span className="quiet small">{WORDS.fromFile}</span>
      ) : (
        <>
          <button type="button" disabled={action.busy} onClick={() => void toggle()}>
            {schedule.enabled ? WORDS.switchOff : WORDS.switchOn}
          </button>
          <a className="button" href={addressOf('schedules', String(schedule.id), { edit: '' })}>
            {WORDS.edit}
          </a>
          <button type="button" className="danger" disabled={action.busy} onClick={() => setAsking(true)}>
            {TEXTS.remove}…
          </button>
        </>
      )}
      {asking && (
        <Confirm
          title={WORDS.removeTitle(schedule.name)}
          action={TEXTS.remove}
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        >
          {WORDS.removeText}
        </Confirm>
      )}
    </>
  );
}
