import { invalid, shortened } from '../../domain/errors.ts';
import { withoutAbsent } from '../../lib/without-absent.ts';
import { TASK_STATES, TASK_TYPES } from '../../tasks/task.ts';
import type { TaskFilter } from '../../tasks/task-service.ts';

const DEFAULT_LIMIT = 50;
const HIGHEST_LIMIT = 500;

/** `?state=running,pending&layer=…&type=…&since=…&before=…&limit=…` */
export function readTaskFilter(query: string): TaskFilter {
  const given = new URLSearchParams(query);
  const limit = numberIn(given, 'limit') ?? DEFAULT_LIMIT;
  const optional = withoutAbsent({
    states: given
      .get('state')
      ?.split(',')
      .map((state) => oneOf('state', state, TASK_STATES)),
    layer: given.get('layer') ?? undefined,
    type: given.has('type') ? oneOf('type', given.get('type') ?? '', TASK_TYPES) : undefined,
    since: timeIn(given, 'since'),
    beforeId: numberIn(given, 'before'),
  });
  return { limit: Math.min(Math.max(limit, 1), HIGHEST_LIMIT), ...optional };
}

function oneOf<T extends string>(name: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((value) => value === text.trim());
  return found ?? refuse(name, text, `one of ${allowed.join(', ')}`);
}

function numberIn(given: URLSearchParams, name: string): number | undefined {
  const text = given.get(name);
  if (text === null) return undefined;
  return /^\d{1,15}$/.test(text) ? Number(text) : refuse(name, text, 'a whole number');
}

function timeIn(given: URLSearchParams, name: string): number | undefined {
  const text = given.get(name);
  if (text === null) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? refuse(name, text, 'a time such as 2026-01-31T12:00:00Z') : time;
}

function refuse(name: string, text: string, allowed: string): never {
  throw invalid(`${name} must be ${allowed}, not "${shortened(text)}".`);
}
