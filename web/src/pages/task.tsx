import { lazy, Suspense, useEffect, useState } from 'react';
import { type Answer, send } from '../api/client.ts';
import { type Task, useTaskChanges } from '../api/task-feed.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { bytesText, coordinateText, countText, durationText, timeText, valuesText } from '../format.ts';
import { hasFailed } from '../has-failed.ts';
import {
  ActionNotices,
  Button,
  Card,
  Copy,
  Empty,
  Facts,
  LinkButton,
  Loaded,
  PageHead,
} from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { ConfirmButton } from '../parts/dialog.tsx';
import { Plot } from '../parts/plots.tsx';
import { layerLink, pace, StateBadge, shareOf, TaskBar } from '../parts/task-parts.tsx';
import { addressOf, goTo } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { queryOf, requestOfTask } from './seed-plan.ts';

/** It has a map. */
const TaskFailures = lazy(() => import('./task-failures.tsx'));
const WORDS = TEXTS.tasks;
const MOST_SAMPLES = 600;

export function TaskPage({ id }: { id: string }) {
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

function TaskDetails({ task }: { task: Task }) {
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
        <Facts
          of={(Object.keys(WORDS.counterNames) as (keyof Task['counters'])[]).map((name) => [
            WORDS.counterNames[name],
            (name === 'bytes' ? bytesText : countText)(task.counters[name]),
          ])}
        />
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

function Request({ task }: { task: Task }) {
  return (
    <Facts
      of={[
        [WORDS.layer, layerLink(task.layer)],
        [TEXTS.layer.gridSet, task.gridSet],
        [TEXTS.layer.format, task.format],
        [TEXTS.layer.parameters, valuesText(task.parameters) || null],
        [WORDS.zooms, `${task.zoomStart} – ${task.zoomStop}`],
        [WORDS.bounds, task.area ? TEXTS.seed.polygons : task.bounds.map(coordinateText).join(', ')],
        [WORDS.threads, task.threadCount],
        [WORDS.created, `${timeText(task.createdAt)} ${WORDS.by(task.createdBy)}`],
        [WORDS.started, task.startedAt && timeText(task.startedAt)],
        [WORDS.ended, task.endedAt && timeText(task.endedAt)],
      ]}
    />
  );
}

/** As it goes while this page is open; what was before is an average. */
function Rate({ task }: { task: Task }) {
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

function Actions({ task }: { task: Task }) {
  const caller = useCaller();
  const action = useAction();
  if (!may(caller, 'operator')) return null;
  const ended = task.state === 'done' || task.state === 'aborted';
  const ask = (verb: string) => send<Task>('POST', `api/v1/tasks/${task.id}/${verb}`);
  const retry = async () => goTo(addressOf('tasks', String((await ask('retry')).id)));
  const button = (text: string, work: () => Promise<unknown>, kind = '') => (
    <Button kind={kind} disabled={action.busy} onClick={() => action.run(work)}>
      {text}
    </Button>
  );
  return (
    <>
      <ActionNotices action={action} />
      {(task.state === 'running' || task.state === 'pending') && button(WORDS.pause, () => ask('pause'))}
      {task.state === 'paused' && button(WORDS.resume, () => ask('resume'))}
      {!ended && (
        <ConfirmButton
          action={action}
          title={`${WORDS.stop} #${task.id}?`}
          verb={WORDS.stop}
          text={WORDS.stopText}
          onConfirm={() => ask('cancel')}
        >
          {WORDS.stop}
        </ConfirmButton>
      )}
      {ended && task.counters.failed > 0 && button(WORDS.retry, retry, 'primary')}
      {ended && (
        <LinkButton href={addressOf('seed', task.layer, queryOf(requestOfTask(task)))}>
          {WORDS.again}
        </LinkButton>
      )}
    </>
  );
}
