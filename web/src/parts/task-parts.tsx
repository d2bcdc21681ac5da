import type { Task } from '../api/task-feed.ts';
import { countText, durationText, percentText, timeText, withLocalTimes } from '../format.ts';
import { hasFailed } from '../has-failed.ts';
import { addressOf } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { Bar } from './basics.tsx';

/** A task that has failed says so, and whether all of it did. */
export function StateBadge({ task }: { task: Task }) {
  const { states, failed, partlyFailed } = TEXTS.tasks;
  if (!hasFailed(task)) return <span className={`badge ${task.state}`}>{states[task.state]}</span>;
  return (
    <span className="badge failed">{task.counters.failed < task.tilesProcessed ? partlyFailed : failed}</span>
  );
}

export function shareOf({ tilesProcessed, tilesTotal, state }: Task): number {
  if (tilesTotal === 0) return state === 'done' ? 1 : 0;
  return tilesProcessed / tilesTotal;
}

export function TaskBar({ task }: { task: Task }) {
  const share = shareOf(task);
  const label = TEXTS.tasks.progress(countText(task.tilesProcessed), countText(task.tilesTotal));
  return (
    <div>
      <Bar
        share={share}
        fault={task.tilesTotal === 0 ? 0 : task.counters.failed / task.tilesTotal}
        label={`${task.layer}: ${label}`}
        kind={task.state}
      />
      <span className="small quiet">
        {percentText(share)} · {label}
      </span>
    </div>
  );
}

export function TaskLine({ task }: { task: Task }) {
  return (
    <div className="task-line">
      <a href={addressOf('tasks', String(task.id))}>#{task.id}</a>
      <span className="cut" title={task.layer}>
        <strong>{TEXTS.tasks.types[task.type]}</strong> {task.layer}
      </span>
      <span>
        <StateBadge task={task} />
      </span>
      <div className="bar-column">
        <TaskBar task={task} />
      </div>
      <span className="small quiet left-column">
        <span className="two-lines" title={pace(task)}>
          {pace(task)}
        </span>
      </span>
      <span className="small quiet two-lines who-column">
        {timeText(task.createdAt)} {TEXTS.tasks.by(task.createdBy)}
      </span>
    </div>
  );
}

export function NoTasks({ text }: { text: string }) {
  return (
    <>
      {text} <a href={addressOf('seed')}>{TEXTS.overview.startSeed}</a>
    </>
  );
}

export function layerLink(name: string) {
  return <a href={addressOf('layers', name)}>{name}</a>;
}

/** E.g. `120 tiles/s · 3 min left`. */
export function pace(task: Task): string {
  const told = task.waitingFor?.text ?? (task.state === 'running' ? null : (task.reason ?? ''));
  if (told !== null) return withLocalTimes(told);
  const rate = TEXTS.tasks.rate(countText(task.tilesPerSecond));
  if (task.secondsRemaining < 0) return rate;
  return `${rate} · ${TEXTS.tasks.left(durationText(task.secondsRemaining))}`;
}
