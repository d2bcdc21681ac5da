import { part } from '../api/client.ts';
import type { Task } from '../api/task-feed.ts';
import { useResource } from '../api/use-resource.ts';
import { countText } from '../format.ts';
import { type LayerInfo, parameterWishes } from '../map/tile-set.ts';
import { Loaded } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { FailureMap } from './failure-map.tsx';

type Failure = Task['errors'][number];

const WORDS = TEXTS.tasks;

/** Where a task failed, on the map, and beside it why: the same reason stands there once. */
export default function TaskFailures({ task }: { readonly task: Task }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(task.layer)}`);
  return (
    <div className="failures">
      <Loaded resource={layer}>{(data) => <FailureMap task={task} layer={data} />}</Loaded>
      <div>
        <p className="small quiet">
          {WORDS.latestFailures(countText(task.errors.length), countText(task.counters.failed))}
        </p>
        <ul className="lines small">
          {[...byReason(task.errors)].map(([message, failures]) => (
            <li key={message} className="reason">
              <strong>{message}</strong>
              <span>
                {WORDS.places(failures.length)}:{' '}
                {failures.map((failure) => (
                  <a key={nameOf(failure)} className="mono" href={inspectAddress(task, failure)}>
                    {nameOf(failure)}{' '}
                  </a>
                ))}
              </span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}

function byReason(errors: readonly Failure[]): ReadonlyMap<string, readonly Failure[]> {
  const groups = new Map<string, Failure[]>();
  for (const failure of errors) {
    const group = groups.get(failure.message) ?? [];
    if (!group.some((other) => nameOf(other) === nameOf(failure))) group.push(failure);
    groups.set(failure.message, group);
  }
  return groups;
}

export function nameOf({ z, x, y }: Failure): string {
  return `${z}/${x}/${y}`;
}

function inspectAddress({ layer, gridSet, format, parameters }: Task, failure: Failure): string {
  return addressOf('inspect', layer, {
    gridSet,
    format,
    ...parameterWishes(parameters),
    tile: nameOf(failure),
  });
}
