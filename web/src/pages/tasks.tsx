import { useEffect, useMemo, useState } from 'react';
import { type ApiResponse, get, send } from '../api/client.ts';
import { type Task, useFeedState, useTaskChanges } from '../api/task-feed.ts';
import { type Action, useAction, useResource } from '../api/use-resource.ts';
import { fill, labelled } from '../format.ts';
import { ActionNotices, Button, Choice, Loaded, PageHead, ProblemNotice, tied } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { type LayerFault, LayerField } from '../parts/layer-field.tsx';
import { NoTasks, TaskLine, taskRequest, useAreaTexts, useHostFailures } from '../parts/task-parts.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { changeQuery, useRoute } from '../route.ts';
import { may, mayWorkOn, useCaller } from '../session.tsx';
import {
  AGES,
  canRetry,
  conditionsOf,
  filterOf,
  fits,
  isOver,
  requestOfTask,
  searchOf,
  type TaskFilter,
  withTaskChanges,
} from '../task-filter.ts';
import { LOCALE, TEXTS } from '../texts.ts';
import { TaskPage } from './task.tsx';

type TaskListResponse = ApiResponse<'GET /api/v1/tasks'>;
type StopResponse = ApiResponse<'POST /api/v1/tasks/stop'>;

const WORDS = TEXTS.tasks;
const ROW_HEIGHT = 66;
const PAGE = 500;
const COUNT_SECONDS = 10;

export default function Tasks() {
  const { item } = useRoute();
  return item === '' ? <TaskList /> : <TaskPage key={item} id={item} />;
}

function TaskList() {
  const { query } = useRoute();
  const filter = useMemo(() => filterOf(query), [query]);
  const conditions = useMemo(() => conditionsOf(filter, Date.now()), [filter]);
  const address = `api/v1/tasks?${searchOf(conditions, PAGE)}`;
  const [fault, setFault] = useState<LayerFault>(null);
  const [older, setOlder] = useState<{ address: string; tasks: readonly Task[]; next: number | null }>();
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const resource = useResource<TaskListResponse>(address);
  const changes = useTaskChanges();
  const feed = useFeedState() ?? 'lost';
  const more = useAction();
  const further = older?.address === address ? older : null;
  const tasks = useMemo(() => {
    const listed = [...(resource.data?.tasks ?? []), ...(further?.tasks ?? [])];
    return withTaskChanges(listed, changes).filter((task) => fits(task, conditions));
  }, [resource.data, further, changes, conditions]);
  const areaText = useAreaTexts();
  const failures = useHostFailures(tasks);
  const rows = tasks.map((task) => ({ task, area: areaText(task), on: chosen.has(task.id) }));
  const choose = (id: number, on: boolean) =>
    setChosen((before) => (on ? new Set([...before, id]) : new Set([...before].filter((one) => one !== id))));

  const next = further ? further.next : (resource.data?.nextAfter ?? null);
  const loadMore = async () => {
    const page = await get<TaskListResponse>(`${address}&after=${next}`);
    setOlder({ address, tasks: [...(further?.tasks ?? []), ...page.tasks], next: page.nextAfter });
  };

  return (
    <>
      <PageHead
        title={TEXTS.nav.tasks}
        under={<span className={`badge ${feed === 'live' ? 'done' : 'paused'}`}>{WORDS.feeds[feed]}</span>}
        actions={<StopAll filter={filter} fault={fault} tasks={tasks} />}
      />
      <div className="stack">
        <Filters filter={filter} fault={fault} onFault={setFault} />
        <Selection
          tasks={tasks.filter(({ id }) => chosen.has(id))}
          all={tasks}
          onChoose={(ids) => setChosen(new Set(ids))}
        />
        <Loaded
          resource={resource}
          empty={() => tasks.length === 0 && next === null && <NoTasks text={WORDS.empty} />}
        >
          {() => (
            <VirtualList items={rows} rowHeight={ROW_HEIGHT} label={WORDS.list} keyOf={({ task }) => task.id}>
              {({ task, area, on }) => (
                <TaskLine task={task} area={area} failures={failures} chosen={on} onChoose={choose} />
              )}
            </VirtualList>
          )}
        </Loaded>
        <ProblemNotice problem={more.problem} />
        {next !== null && (
          <Button disabled={more.busy} onClick={() => more.run(loadMore)}>
            {TEXTS.more}
          </Button>
        )}
      </div>
    </>
  );
}

function Filters(props: { filter: TaskFilter; fault: LayerFault; onFault: (fault: LayerFault) => void }) {
  const { filter, fault, onFault } = props;
  const { invalidate: _, ...types } = WORDS.types;
  const fields = tied(filter, changeQuery);
  return (
    <div className="row tops">
      <Choice
        label={WORDS.state}
        options={{ '': WORDS.any, ...WORDS.states, failed: WORDS.withFailures }}
        {...fields.choice('state')}
      />
      <Choice label={WORDS.type} options={{ '': WORDS.any, ...types }} {...fields.choice('type')} />
      <Choice label={WORDS.created} options={AGES} {...fields.choice('days')} />
      <LayerField fault={fault} onFault={onFault} {...fields.choice('layer')} />
    </div>
  );
}

/** Stops the tasks that the filter describes and that the caller may stop; there are none while the filter has a fault. */
function StopAll(props: { filter: TaskFilter; fault: LayerFault; tasks: readonly Task[] }) {
  const { filter, fault, tasks } = props;
  const caller = useCaller();
  const action = useAction();
  const operates = may(caller, 'operator');
  const conditions = useMemo(() => {
    const filtered = conditionsOf(filter, Date.now());
    return Object.keys(filtered).length === 0 ? { all: true as const } : filtered;
  }, [filter]);
  const { data, reload } = useResource<StopResponse>(operates ? 'api/v1/tasks/stop' : null, COUNT_SECONDS, {
    ...conditions,
    dryRun: true,
  });
  const unfinished = tasks.filter((task) => !isOver(task)).map(({ id, state }) => `${id} ${state}`);
  const live = unfinished.join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: tasks that begin and end change the number
  useEffect(reload, [live, reload]);
  if (!operates) return null;
  const text = stopText(data?.count);
  const stop = async () => {
    const { tasks: stopped } = await send<StopResponse>('POST', 'api/v1/tasks/stop', conditions);
    reload();
    return fill(WORDS.stopped, { count: stopped.length });
  };
  return (
    <>
      <ConfirmButton
        action={action}
        disabled={fault !== null || text === ''}
        title={fill(WORDS.stopQuestion, { which: text })}
        verb={WORDS.stopAll}
        text={`${filterText(filter)} ${WORDS.stopText}`}
        onConfirm={stop}
      >
        {text === '' ? WORDS.stopAll : fill(WORDS.stopThese, { which: text })}
      </ConfirmButton>
      <ActionNotices action={action} />
    </>
  );
}

/** E.g. `3 running tasks and 12 pending tasks`; empty without any. */
function stopText(counts: StopResponse['count'] | undefined): string {
  const parts = Object.entries(counts ?? {}).filter(([, count]) => count > 0);
  return new Intl.ListFormat(LOCALE).format(
    parts.map(([state, count]) => fill(WORDS.stopCounts[state as keyof typeof WORDS.stopCounts], { count })),
  );
}

/** For the question of "Stop all". */
function filterText({ state, type, layer, days }: TaskFilter): string {
  const { withFailures, states, types } = WORDS;
  const parts: readonly (readonly [string, string])[] = [
    [WORDS.state, state === 'failed' ? withFailures : (states[state as Task['state']] ?? '')],
    [WORDS.type, types[type as Task['type']] ?? ''],
    [WORDS.created, days === '' ? '' : (AGES.find(([one]) => one === days)?.[1] ?? '')],
    [WORDS.layer, layer],
  ];
  const sentences = parts
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${labelled(name, value)}.`);
  return sentences.length === 0 ? WORDS.everyTask : sentences.join(' ');
}

/** Each button acts on the selected tasks that allow it. */
function Selection(props: {
  tasks: readonly Task[];
  all: readonly Task[];
  onChoose: (ids: readonly number[]) => void;
}) {
  const { tasks, all, onChoose } = props;
  const caller = useCaller();
  const action = useAction();
  if (tasks.length === 0 && action.done === null && action.problem === null) return null;
  const own = tasks.filter(({ layer }) => mayWorkOn(caller, layer));
  const work: readonly (readonly [string, readonly Task[], (task: Task) => Promise<unknown>])[] = [
    [WORDS.stop, own.filter((task) => !isOver(task)), (task) => taskRequest(task, 'cancel')],
    [WORDS.retry, own.filter(canRetry), (task) => taskRequest(task, 'retry')],
    [WORDS.repeat, own.filter(isOver), (task) => send('POST', 'api/v1/tasks', requestOfTask(task))],
  ];
  return (
    <div className="row" role="toolbar" aria-label={WORDS.selection}>
      <span role="status">{fill(WORDS.chosen, { count: tasks.length })}</span>
      {work.map(([text, subset, perform]) => (
        <ForEach key={text} text={text} tasks={subset} action={action} perform={perform} />
      ))}
      <Button onClick={() => onChoose(all.map(({ id }) => id))}>
        {fill(WORDS.chooseAll, { count: all.length })}
      </Button>
      <Button onClick={() => onChoose([])}>{WORDS.chooseNone}</Button>
      <ActionNotices action={action} />
    </div>
  );
}

function ForEach(props: {
  text: string;
  tasks: readonly Task[];
  action: Action;
  perform: (task: Task) => Promise<unknown>;
}) {
  const { text, tasks, action, perform } = props;
  const label = `${text} (${tasks.length})`;
  const all = async () => {
    for (const task of tasks) await perform(task);
    return fill(WORDS.requested, { what: text, count: tasks.length });
  };
  return (
    <ConfirmButton
      action={action}
      disabled={tasks.length === 0}
      kind={text === WORDS.stop ? 'danger' : ''}
      title={fill(WORDS.question, { what: label })}
      verb={label}
      text={tasks.map(({ id }) => `#${id}`).join(', ')}
      onConfirm={all}
    >
      {label}
    </ConfirmButton>
  );
}
