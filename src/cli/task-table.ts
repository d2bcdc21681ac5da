import { columns, countOf, durationOf, withLocalTimes } from './plain-words.ts';
import { outcomeOf, progressFacts } from './progress-bar.ts';
import { isOver, type TaskDocument } from './task-document.ts';

const HEADINGS = ['ID', 'LAYER', 'TYPE', 'STATE', 'TILES', 'TOTAL', 'FAILED', 'LEFT', 'STARTED BY'];
const RIGHT_ALIGNED = ['ID', 'TILES', 'TOTAL', 'FAILED', 'LEFT'];

export function taskTable(tasks: readonly TaskDocument[]): string {
  return columns([HEADINGS, ...tasks.map(rowOf)], RIGHT_ALIGNED);
}

/** Everything about one task that a person asks first. */
export function describeTask(task: TaskDocument): string {
  const parameters = Object.entries(task.parameters).map(([name, value]) => `${name}=${value}`);
  const what = [task.gridSet, `zoom ${task.zoomStart} to ${task.zoomStop}`, task.format, ...parameters];
  const threads = `${task.threadCount} thread${task.threadCount === 1 ? '' : 's'}`;
  const head = isOver(task)
    ? outcomeOf(task)
    : `Task ${task.id}, ${task.type} ${task.layer}, is ${task.state}\n  ${progressFacts(task)}`;
  const lines = [
    head,
    `  ${what.join(' · ')} · ${threads}`,
    `  asked for by ${task.createdBy} at ${withLocalTimes(task.createdAt)}`,
  ];
  const failures = isOver(task)
    ? []
    : task.errors.slice(-3).map(({ z, x, y, message }) => `  failed at ${z}/${x}/${y}: ${message}`);
  return [...lines, ...failures].join('\n');
}

function rowOf(task: TaskDocument): readonly string[] {
  return [
    String(task.id),
    task.layer,
    task.type,
    task.state,
    countOf(task.tilesProcessed),
    countOf(task.tilesTotal),
    countOf(task.counters.failed),
    task.state === 'running' && task.secondsRemaining >= 0 ? durationOf(task.secondsRemaining) : '',
    task.createdBy,
  ];
}
