import { lazy, Suspense, useEffect, useState } from 'react';
import { type ApiResponse, curl } from '../api/client.ts';
import { type Task, useTaskChanges } from '../api/task-feed.ts';
import { useResource } from '../api/use-resource.ts';
import {
  bytesText,
  coordinateText,
  countText,
  durationText,
  fill,
  percentText,
  tileRateText,
  timeText,
  valuesText,
} from '../format.ts';
import { parameterWishes } from '../map/tile-set.ts';
import { Bar, Card, Copy, Empty, Facts, Loaded, Named, PageHead, Table } from '../parts/basics.tsx';
import { Plot } from '../parts/plots.tsx';
import {
  formatText,
  hasFailed,
  layerLink,
  pace,
  StateBadge,
  shareOf,
  TaskBar,
  TaskButtons,
  useHostFailures,
} from '../parts/task-parts.tsx';
import { addressOf } from '../route.ts';
import { mayWorkOn, useCaller } from '../session.tsx';
import { isOver, requestOfTask } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import { LayerExports } from './layer-exports.tsx';

/** Loaded on demand, with the map library. */
const AreaMap = lazy(() => import('./area-map.tsx'));
const TaskFailures = lazy(() => import('./task-failures.tsx'));
type Zooms = NonNullable<ApiResponse<'GET /api/v1/tasks/{id}'>['zooms']>;

const WORDS = TEXTS.tasks;
const MAX_SAMPLES = 600;
/** Interval of the progress by zoom; events bring the other figures. */
const REFRESH_SECONDS = 5;

export function TaskPage({ id }: { id: string }) {
  const [isRunning, setRunning] = useState(true);
  const resource = useResource<ApiResponse<'GET /api/v1/tasks/{id}'>>(
    `api/v1/tasks/${encodeURIComponent(id)}`,
    isRunning ? REFRESH_SECONDS : null,
  );
  const changed = useTaskChanges().get(Number(id));
  const latest = changed ?? resource.data;
  // The change of the interval loads the final state.
  useEffect(() => setRunning(latest === null || !isOver(latest)), [latest]);
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
              actions={<TaskButtons task={task} />}
            />
            <p className="visually-hidden" role="status">
              {WORDS.states[task.state]} {Math.floor(shareOf(task) * 10) * 10} %
            </p>
            <TaskDetails task={task} zooms={data.zooms ?? null} />
          </>
        );
      }}
    </Loaded>
  );
}

function TaskDetails({ task, zooms }: { task: Task; zooms: Zooms | null }) {
  const isDrawn = task.area !== null && task.areaName === null;
  const caller = useCaller();
  const failures = useHostFailures([task]);
  return (
    <div className="grid">
      <Card>
        <div className="stack tight">
          <TaskBar task={task} />
          <p className={task.waitingFor || hasFailed(task) ? 'notice warn' : 'quiet'}>
            {pace(task, failures)}
          </p>
        </div>
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
      {zooms !== null && zooms.length > 1 && (
        <Card title={WORDS.byZoom}>
          <ZoomBars zooms={zooms} isCounted={task.type !== 'truncate'} />
        </Card>
      )}
      {(task.counters.failed > 0 || task.errors.length > 0) && (
        <Card title={WORDS.failures}>
          <Suspense fallback={TEXTS.loading}>
            <TaskFailures task={task} />
          </Suspense>
        </Card>
      )}
      <Card title={TEXTS.seed.area} className="span-6">
        <Suspense fallback={TEXTS.loading}>
          <TaskArea task={task} />
        </Suspense>
      </Card>
      <Card title={WORDS.request} className="span-6">
        <Request task={task} />
      </Card>
      {task.type !== 'export' && (
        <Card title={WORDS.curl}>
          {/* A drawn shape may be long. */}
          <Copy
            folded={isDrawn}
            label={WORDS.curl}
            text={curl('POST', 'api/v1/tasks', requestOfTask(task))}
          />
        </Card>
      )}
      {task.type === 'export' && mayWorkOn(caller, task.layer) && <LayerExports layer={task.layer} />}
    </div>
  );
}

/** A truncation goes through places, and may find no tiles there. */
function ZoomBars({ zooms, isCounted }: { zooms: Zooms; isCounted: boolean }) {
  return (
    <Table
      label={WORDS.byZoom}
      className="snug zoom-bars"
      rows={zooms.map(({ z, tiles, processed }) => [
        z,
        `z ${z}`,
        <Bar
          key="bar"
          share={tiles === 0 ? 1 : processed / tiles}
          label={`z ${z}`}
          kind={processed === tiles ? 'done' : ''}
        />,
        isCounted && fill(TEXTS.outOf, { some: countText(processed), all: countText(tiles) }),
      ])}
    />
  );
}

function TaskArea({ task }: { task: Task }) {
  const { layer, gridSet, format, parameters, bounds, area, zoomStop } = task;
  return (
    <AreaMap
      layer={layer}
      wishes={{ gridSet, format, ...parameterWishes(parameters) }}
      area={
        area
          ? { kind: 'shape', shape: area, crs: 'grid-set' }
          : { kind: 'bounds', typed: bounds.map(coordinateText) }
      }
      maxZoom={zoomStop}
      label={WORDS.areaMap}
    />
  );
}

function Request({ task }: { task: Task }) {
  const { area, areaName: name } = task;
  const corners = area && fill(WORDS.corners, { count: cornersIn(area) });
  return (
    <Facts
      of={[
        [WORDS.layer, layerLink(task.layer)],
        [TEXTS.layer.gridSet, task.gridSet],
        [TEXTS.layer.format, formatText(task)],
        [TEXTS.layer.parameters, valuesText(task.parameters) || null],
        [WORDS.zooms, `${task.zoomStart} – ${task.zoomStop}`],
        [
          TEXTS.seed.area,
          name === null ? corners : <Named key="area" name={areaLink(name)} kind={corners ?? ''} />,
        ],
        [WORDS.bounds, task.bounds.map(coordinateText).join(', ')],
        [TEXTS.seed.byUse, task.share === null ? null : percentText(task.share)],
        [WORDS.threads, task.threadCount],
        [WORDS.created, `${timeText(task.createdAt)} ${fill(WORDS.by, { name: task.createdBy })}`],
        [WORDS.started, task.startedAt && timeText(task.startedAt)],
        [WORDS.ended, task.endedAt && timeText(task.endedAt)],
        [TEXTS.seed.seconds, task.durationMs === null ? null : durationText(task.durationMs / 1000)],
      ]}
    />
  );
}

function areaLink(name: string) {
  return <a href={addressOf('areas', name)}>{name}</a>;
}

/** Without the point that closes each ring. */
function cornersIn({ coordinates }: NonNullable<Task['area']>): number {
  return coordinates.flat().reduce((total, ring) => total + ring.length - 1, 0);
}

/** Measured while this page is open; an average of the time before. */
function Rate({ task }: { task: Task }) {
  const [rates, setRates] = useState<readonly (readonly [time: number, rate: number])[]>([]);
  const running = task.state === 'running';
  useEffect(() => {
    if (running) setRates((before) => [...before.slice(1 - MAX_SAMPLES), [Date.now(), task.tilesPerSecond]]);
  }, [task, running]);
  const average = averageText(task);
  return (
    <div className="stack">
      {rates.length > 0 && (
        <Plot
          lines={[{ name: WORDS.ratePlot, values: rates.map(([, rate]) => rate) }]}
          times={rates.map(([time]) => time)}
          label={WORDS.ratePlot}
          text={tileRateText}
        />
      )}
      {!running && rates.length === 0 && <Empty>{average ?? WORDS.notRunning}</Empty>}
      {!running && rates.length > 0 && average !== null && <p className="quiet">{average}</p>}
    </div>
  );
}

function averageText({ type, startedAt, endedAt, tilesProcessed, counters }: Task): string | null {
  if (startedAt === null || endedAt === null) return null;
  const seconds = Math.max(1, (Date.parse(endedAt) - Date.parse(startedAt)) / 1000);
  const count = type === 'truncate' ? counters.removed : tilesProcessed;
  return fill(WORDS.averageRate, {
    tiles: fill(TEXTS.overview.tiles, { count }),
    time: durationText(seconds),
    rate: tileRateText(count / seconds),
  });
}
