import { type ApiResponse, send } from '../api/client.ts';
import type { Task } from '../api/task-feed.ts';
import { useAction, useApi, useResource } from '../api/use-resource.ts';
import {
  countText,
  durationText,
  extentText,
  fill,
  labelled,
  momentText,
  percentText,
  tileRateText,
  timeText,
  valuesText,
  withLocalTimes,
} from '../format.ts';
import { addressOf, goTo } from '../route.ts';
import { may, mayWorkOn, useCaller } from '../session.tsx';
import { canRetry, isOver, queryOf, requestOfTask } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import { ActionNotices, Bar, Button, LinkButton, Mark } from './basics.tsx';
import { ConfirmButton } from './dialog.tsx';

const WORDS = TEXTS.tasks;

/** A failure comes before the state; a task that waits for its host or its store does not run. */
export function StateBadge({ task }: { task: Task }) {
  const { state, outcome, waitingFor } = task;
  if (outcome === 'partial') return <span className="badge warn">{WORDS.partlyFailed}</span>;
  if (outcome === 'failed') return <span className="badge failed">{WORDS.failed}</span>;
  if (outcome === 'stopped') return <span className="badge">{WORDS.states.aborted}</span>;
  if (waitingFor && !isOver(task)) {
    const what = waitingFor.host === null ? WORDS.waitingForStore : WORDS.waiting;
    return <span className="badge warn">{what}</span>;
  }
  return <span className={`badge ${state}`}>{WORDS.states[state]}</span>;
}

export function hasFailed({ outcome }: Task): boolean {
  return outcome === 'partial' || outcome === 'failed';
}

export function shareOf({ tilesProcessed, tilesTotal, state }: Task): number {
  if (tilesTotal === 0) return state === 'done' ? 1 : 0;
  return tilesProcessed / tilesTotal;
}

/** A truncation counts existing tiles only: missing ones are no work. */
function progressText({ type, tilesProcessed, tilesTotal, counters }: Task): string {
  if (type === 'truncate') return fill(WORDS.deletedTiles, { count: counters.removed });
  return fill(WORDS.progress, {
    done: countText(tilesProcessed),
    count: tilesTotal,
  });
}

export function TaskBar({ task }: { task: Task }) {
  const { tilesTotal, state, counters } = task;
  const share = shareOf(task);
  const label = progressText(task);
  return (
    <div>
      <Bar
        share={share}
        fault={tilesTotal === 0 ? 0 : counters.failed / tilesTotal}
        label={labelled(task.layer, label)}
        kind={isOver(task) ? 'done' : state}
      />
      <span className="small quiet">
        {percentText(share)} · {label}
        {counters.failed > 0 && (
          <span className="bad"> · {fill(WORDS.failedTiles, { count: counters.failed })}</span>
        )}
      </span>
    </div>
  );
}

export function formatText({ format }: Task): string {
  return format === '*' ? WORDS.everyFormat : format;
}

/** With `onChoose` it has a checkbox and buttons. */
export function TaskLine(props: {
  task: Task;
  area: string;
  failures: HostFailures;
  chosen?: boolean;
  onChoose?: (id: number, on: boolean) => void;
}) {
  const { task, area, failures, chosen = false, onChoose } = props;
  const { zoomStart, zoomStop } = task;
  const zooms = zoomStart === zoomStop ? `z ${zoomStart}` : `z ${zoomStart}–${zoomStop}`;
  const parts = [zooms, area, task.gridSet, formatText(task), valuesText(task.parameters)];
  const where = parts.filter((text) => text !== '').join(' · ');
  return (
    <div className={`task-line ${onChoose ? 'with-buttons' : ''}`}>
      <span className="row tight">
        {onChoose && (
          <Mark
            label={fill(WORDS.choose, { id: task.id })}
            checked={chosen}
            onChange={(on) => onChoose(task.id, on)}
          />
        )}
        <a className="whole-row" href={addressOf('tasks', String(task.id))}>
          #{task.id}
        </a>
      </span>
      <span className="cut" title={labelled(task.layer, where)}>
        <strong>{WORDS.types[task.type]}</strong> {task.layer}
        <span className="cut small quiet block">{where}</span>
      </span>
      <span>
        <StateBadge task={task} />
      </span>
      <div className="bar-column">
        <TaskBar task={task} />
      </div>
      <span className="small quiet left-column">
        <span className="three-lines" title={pace(task, failures)}>
          {pace(task, failures)}
        </span>
      </span>
      <span className="small quiet three-lines who-column">
        {timeText(task.createdAt)} {fill(WORDS.by, { name: task.createdBy })}
      </span>
      {onChoose && <TaskButtons task={task} inRow />}
    </div>
  );
}

/** In a row the label of each button names the task. */
export function TaskButtons({ task, inRow = false }: { task: Task; inRow?: boolean }) {
  const caller = useCaller();
  const action = useAction();
  if (!mayWorkOn(caller, task.layer)) return inRow ? <span /> : null;
  const retry = () => taskRequest(task, 'retry').then(({ id }) => goTo(addressOf('tasks', String(id))));
  const label = (text: string) => (inRow ? labelled(text, `#${task.id}`) : undefined);
  const button = (text: string, work: () => Promise<unknown>, kind = '', short = text) => (
    <Button kind={kind} aria-label={label(text)} disabled={action.busy} onClick={() => action.run(work)}>
      {inRow ? short : text}
    </Button>
  );
  const buttons = (
    <>
      {/^(running|pending)$/.test(task.state) && button(WORDS.pause, () => taskRequest(task, 'pause'))}
      {task.state === 'paused' && button(WORDS.resume, () => taskRequest(task, 'resume'))}
      {!isOver(task) && (
        <ConfirmButton
          action={action}
          label={label(WORDS.stop)}
          title={fill(WORDS.stopQuestion, { which: `#${task.id}` })}
          verb={WORDS.stop}
          text={`${WORDS.stopText} ${WORDS.stopTypes[task.type]}`}
          onConfirm={() => taskRequest(task, 'cancel')}
        >
          {WORDS.stop}
        </ConfirmButton>
      )}
      {canRetry(task) && button(WORDS.retry, retry, inRow ? '' : 'primary', TEXTS.retry)}
      {isOver(task) && (
        <LinkButton
          aria-label={label(WORDS.again)}
          href={addressOf('seed', task.layer, queryOf(requestOfTask(task)))}
        >
          {WORDS.again}
        </LinkButton>
      )}
    </>
  );
  if (inRow)
    return (
      <span className="row tight buttons" title={action.problem?.message}>
        {buttons}
        {action.problem && <span className="small field-error">{action.problem.message}</span>}
      </span>
    );
  return (
    <>
      <ActionNotices action={action} />
      {buttons}
    </>
  );
}

export function taskRequest({ id }: Task, verb: 'cancel' | 'retry' | 'pause' | 'resume'): Promise<Task> {
  return send<Task>('POST', `api/v1/tasks/${id}/${verb}`);
}

/** "whole grid set", the name of an area, "polygon" or bounds. */
export function useAreaTexts(): (task: Task) => string {
  const gridSets = useApi('/api/v1/gridsets');
  const extents = new Map(gridSets.data?.gridSets.map(({ name, extent }) => [name, extent]));
  return ({ area, areaName, bounds, gridSet }) => {
    if (area) return areaName ?? WORDS.polygon;
    const extent = extents.get(gridSet);
    const isWhole = extent?.every(
      (edge, place) => (place < 2 ? 1 : -1) * ((bounds[place] ?? 0) - edge) <= 1e-6,
    );
    return isWhole ? WORDS.wholeGridSet : extentText(bounds);
  };
}

export type Seeds = ApiResponse<'GET /api/v1/tasks'>;

/** Unfinished tasks of a layer. */
export function seedsAddress(layer: string): string {
  return `api/v1/tasks?${new URLSearchParams({ layer, state: 'running,pending', limit: '500' })}`;
}

/** Seeds of the area of a truncation; null: none. */
export function seedsText({ tasks }: Seeds): string | null {
  const seeds = tasks.filter(({ type }) => type === 'seed' || type === 'reseed').length;
  return seeds === 0 ? null : fill(WORDS.seedsGoOn, { count: seeds });
}

export function NoTasks({ text }: { text: string }) {
  return (
    <>
      {text} {may(useCaller(), 'operator') && <a href={addressOf('seed')}>{TEXTS.overview.startSeed}</a>}
    </>
  );
}

export function layerLink(name: string) {
  return <a href={addressOf('layers', name)}>{name}</a>;
}

const MAX_LINKS = 20;
const FAILURE_SECONDS = 10;

/** `names` may be the first of `count`. */
export function LayerLinks(props: {
  names: readonly string[];
  count?: number;
  most?: number;
  none?: string;
}) {
  const { names, count = names.length, most = MAX_LINKS, none = TEXTS.none } = props;
  if (count === 0) return none;
  return (
    <span className="row tight">
      {names.slice(0, most).map((name) => (
        <span key={name}>{layerLink(name)}</span>
      ))}
      {count > most && fill(TEXTS.upstreams.moreLayers, { count: count - most })}
    </span>
  );
}

/** E.g. `HTTP 503` for `status-503`. */
export function failureName(reason: string): string {
  const names: Readonly<Record<string, string>> = TEXTS.upstreams.failures;
  return names[reason] ?? reason.replace(/^status-/, 'HTTP ');
}

/** The last failure of each upstream, by host. */
type HostFailures = ReadonlyMap<string, string>;

/** Read while one of the tasks waits for its upstream. */
export function useHostFailures(tasks: readonly Task[]): HostFailures {
  const waits = tasks.some(({ waitingFor }) => waitingFor?.host);
  const { data } = useResource<ApiResponse<'GET /api/v1/upstreams'>>(
    waits ? 'api/v1/upstreams' : null,
    FAILURE_SECONDS,
  );
  return new Map(
    data?.upstreams.flatMap(({ host, lastFailure }) =>
      lastFailure ? [[host, failureName(lastFailure.reason)]] : [],
    ),
  );
}

/** E.g. `120 tiles/s · 3 min left`, why it waits, or how long it took. */
export function pace(task: Task, failures: HostFailures): string {
  const { state, reason, waitingFor, durationMs, secondsRemaining } = task;
  if (isOver(task)) {
    const took = durationMs === null ? '' : fill(WORDS.took, { time: durationText(durationMs / 1000) });
    return [took, withLocalTimes(reason ?? '')].filter((text) => text !== '').join(' · ');
  }
  if (waitingFor) return waitText(waitingFor, failures);
  if (state !== 'running') return withLocalTimes(reason ?? '');
  const rate = tileRateText(task.tilesPerSecond);
  return secondsRemaining < 0
    ? rate
    : `${rate} · ${fill(WORDS.left, { time: durationText(secondsRemaining) })}`;
}

function waitText(wait: NonNullable<Task['waitingFor']>, failures: HostFailures): string {
  const { host, reason, until, text } = wait;
  if (host === null) return withLocalTimes(text);
  const failure = reason === 'failing' ? failures.get(host) : undefined;
  const why = failure ?? TEXTS.upstreams.reasons[reason as keyof typeof TEXTS.upstreams.reasons] ?? reason;
  if (reason === 'paused') return labelled(host, why);
  return fill(WORDS.waitingFor, { host, why, until: momentText(until) });
}
