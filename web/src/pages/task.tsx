import { lazy, Suspense, useEffect, useState } from 'react';
import { type Answer, send } from '../api/client.ts';
import { type Task, useTaskChanges } from '../api/task-feed.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { bytesText, coordinateText, countText, durationText, timeText } from '../format.ts';
import { hasFailed } from '../has-failed.ts';
import { ActionNotices, Card, Copy, Empty, Fact, Loaded, PageHead } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { curl } from '../parts/curl.ts';
import { Plot } from '../parts/plots.tsx';
import { pace, StateBadge, shareOf, TaskBar } from '../parts/task-parts.tsx';
import { addressOf, goTo } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { queryOf, requestOfTask } from './seed-plan.ts';

/** It has a map. */
const TaskFailures = lazy(() => import('./task-failures.tsx'));
const WORDS = TEXTS.tasks;
const MOST_SAMPLES = 600;

export function TaskPage({ id }: { readonly id: string }) {
  const resource = useResource<Answer<'/api/v1/tasks/{id}'>>(`api/v1/tasks/${encodeURIComponent(id)}`);
  const changed = useTaskChanges().get(Number(id));
  return (
    <Loaded resource={resource}>
      {(data) => {
        const task = changed ?? data;
        return (
          <>
            <PageHead
              title={`${WORDS.types[task.type]} ${task.layer}`}
              under={
                <>
                  #{task.id} <StateBadge task={task} />
                </>
              }
              actions={<Actions task={task} />}
            />
            <p className="visually-hidden" role="status">
              {WORDS.states[task.state]} {Math.floor(shareOf(task) * 10) * 10} %
            </p>
            <TaskDetails task={task} />
          </>
        );
      }}
    </Loaded>
  );
}

function TaskDetails({ task }: { readonly task: Task }) {
  return (
    <div className="grid">
      <Card className="span-12">
        <TaskBar task={task} />
        <p className={task.waitingFor || hasFailed(task) ? 'notice warn' : 'quiet'}>{pace(task)}</p>
      </Card>
      <Card title={WORDS.ratePlot} className="span-7">
        <Rate task={task} />
      </Card>
      <Card title={WORDS.counters} className="span-5">
        <dl className="facts">
          {(Object.keys(WORDS.counterNames) as (keyof Task['counters'])[]).map((name) => (
            <Fact key={name} label={WORDS.counterNames[name]}>
              {name === 'bytes' ? bytesText(task.counters.bytes) : countText(task.counters[name])}
            </Fact>
          ))}
        </dl>
      </Card>
      {(task.counters.failed > 0 || task.errors.length > 0) && (
        <Card title={WORDS.failures} className="span-12">
          <Suspense fallback={TEXTS.loading}>
            <TaskFailures task={task} />
          </Suspense>
        </Card>
      )}
      <Card title={WORDS.request} className="span-6">
        <Request task={task} />
      </Card>
      <Card title={WORDS.curl} className="span-6">
        <Copy label={WORDS.curl} text={curl('POST', 'api/v1/tasks', requestOfTask(task))} />
      </Card>
    </div>
  );
}

function Request({ task }: { readonly task: Task }) {
  const parameters = Object.entries(task.parameters).map(([name, value]) => `${name}=${value}`);
  return (
    <dl className="facts">
      <Fact label={WORDS.layer}>
        <a href={addressOf('layers', task.layer)}>{task.layer}</a>
      </Fact>
      <Fact label={TEXTS.layer.gridSet}>{task.gridSet}</Fact>
      <Fact label={TEXTS.layer.format}>{task.format}</Fact>
      {parameters.length > 0 && <Fact label={TEXTS.layer.parameters}>{parameters.join(', ')}</Fact>}
      <Fact label={WORDS.zooms}>
        {task.zoomStart} – {task.zoomStop}
      </Fact>
      <Fact label={WORDS.bounds}>
        {task.area ? TEXTS.seed.polygons : task.bounds.map(coordinateText).join(', ')}
      </Fact>
      <Fact label={WORDS.threads}>{task.threadCount}</Fact>
      <Fact label={WORDS.created}>
        {timeText(task.createdAt)} {WORDS.by(task.createdBy)}
      </Fact>
      {task.startedAt !== null && <Fact label={WORDS.started}>{timeText(task.startedAt)}</Fact>}
      {task.endedAt !== null && <Fact label={WORDS.ended}>{timeText(task.endedAt)}</Fact>}
    </dl>
  );
}

/** As it goes while this page is open; what was before is an average. */
function Rate({ task }: { readonly task: Task }) {
  const [rates, setRates] = useState<readonly (readonly [time: number, rate: number])[]>([]);
  const running = task.state === 'running';
  useEffect(() => {
    if (running) setRates((before) => [...before.slice(1 - MOST_SAMPLES), [Date.now(), task.tilesPerSecond]]);
  }, [task, running]);
  const average = averageText(task);
  return (
    <div className="stack">
      {rates.length > 0 && (
        <Plot
          lines={[{ name: WORDS.ratePlot, values: rates.map(([, rate]) => rate) }]}
          times={rates.map(([time]) => time)}
          label={WORDS.ratePlot}
          text={(rate) => WORDS.rate(rateText(rate))}
        />
      )}
      {!running && rates.length === 0 && <Empty>{average ?? WORDS.notRunning}</Empty>}
      {!running && rates.length > 0 && average !== null && <p className="quiet">{average}</p>}
    </div>
  );
}

/** Whole from ten on: below, a tenth is worth showing. */
function rateText(rate: number): string {
  return rate < 10 ? String(Number(rate.toFixed(1))) : countText(rate);
}

function averageText({ startedAt, endedAt, tilesProcessed }: Task): string | null {
  if (startedAt === null || endedAt === null) return null;
  const seconds = Math.max(1, (Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
  return WORDS.averageRate(
    countText(tilesProcessed),
    durationText(seconds),
    rateText(tilesProcessed / seconds),
  );
}

function over({ state }: Task): boolean {
  return state === 'done' || state === 'aborted';
}

function Actions({ task }: { readonly task: Task }) {
  const caller = useCaller();
  const action = useAction();
  const [asking, setAsking] = useState(false);
  if (!may(caller, 'operator')) return null;
  const ended = over(task);
  const change = (verb: string) =>
    action.run(async () => {
      const changed = await send<Task>('POST', `api/v1/tasks/${task.id}/${verb}`);
      if (verb === 'retry') goTo(addressOf('tasks', String(changed.id)));
      return null;
    });
  return (
    <>
      <ActionNotices action={action} />
      {(task.state === 'running' || task.state === 'pending') && (
        <button type="button" disabled={action.busy} onClick={() => void change('pause')}>
          {WORDS.pause}
        </button>
      )}
      {task.state === 'paused' && (
        <button type="button" disabled={action.busy} onClick={() => void change('resume')}>
          {WORDS.resume}
        </button>
      )}
      {!ended && (
        <button type="button" className="danger" disabled={action.busy} onClick={() => setAsking(true)}>
          {WORDS.stop}
        </button>
      )}
      {ended && task.counters.failed > 0 && (
        <button type="button" className="primary" disabled={action.busy} onClick={() => void change('retry')}>
          {WORDS.retry}
        </button>
      )}
      {ended && (
        <a className="button" href={addressOf('seed', task.layer, queryOf(requestOfTask(task)))}>
          {WORDS.again}
        </a>
      )}
      {asking && (
        <Confirm
          title={`${WORDS.stop} #${task.id}?`}
          action={WORDS.stop}
          onConfirm={() => void change('cancel')}
          onClose={() => setAsking(false)}
        >
          {WORDS.stopText}
        </Confirm>
      )}
    </>
  );
}
