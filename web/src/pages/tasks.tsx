import { useMemo, useState } from 'react';
import { type Answer, get, part, reach } from '../api/client.ts';
import { type Task, useFeedState, useTaskChanges } from '../api/task-feed.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { hasFailed } from '../has-failed.ts';
import { ActionNotices, Button, Choice, Loaded, PageHead, ProblemNotice, tied } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { type LayerFault, LayerField } from '../parts/layer-field.tsx';
import { NoTasks, TaskLine } from '../parts/task-parts.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { changeQuery, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { merged } from './overview.tsx';
import { TaskPage } from './task.tsx';

type TaskPageAnswer = Answer<'/api/v1/tasks'>;

const WORDS = TEXTS.tasks;
const ROW_HEIGHT = 62;
const NARROW_ROW_HEIGHT = 108;
const PAGE = 500;
const FAILED = 'failed';

export default function Tasks() {
  const { item } = useRoute();
  return item === '' ? <TaskList /> : <TaskPage key={item} id={item} />;
}

function TaskList() {
  const { query } = useRoute();
  const filter = useMemo(() => filterOf(query), [query]);
  const address = useMemo(() => `api/v1/tasks?${search(filter)}`, [filter]);
  const [fault, setFault] = useState<LayerFault>(null);
  const [older, setOlder] = useState<readonly Task[]>([]);
  const resource = useResource<TaskPageAnswer>(address);
  const changes = useTaskChanges();
  const feed = useFeedState() ?? 'lost';
  const more = useAction();
  const tasks = useMemo(() => {
    const listed = [...(resource.data?.tasks ?? []), ...older];
    return merged(listed, changes).filter((task) => fits(task, filter));
  }, [resource.data, older, changes, filter]);

  const next = older.length === 0 ? (resource.data?.nextBefore ?? null) : (older.at(-1)?.id ?? null);
  const loadMore = async () => {
    const page = await get<TaskPageAnswer>(`${address}&before=${next}`);
    setOlder([...older, ...page.tasks]);
  };

  return (
    <>
      <PageHead
        title={TEXTS.nav.tasks}
        under={<span className={`badge ${feed === 'live' ? 'done' : 'paused'}`}>{WORDS.feeds[feed]}</span>}
        actions={<StopButtons layer={filter.layer} disabled={fault !== null} />}
      />
      <div className="stack">
        <Filters filter={filter} fault={fault} onFault={setFault} />
        <Loaded resource={resource} empty={() => tasks.length === 0 && <NoTasks text={WORDS.empty} />}>
          {() => (
            <VirtualList
              items={tasks}
              rowHeight={innerWidth <= 760 ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
              label={WORDS.list}
              keyOf={({ id }) => id}
            >
              {(task) => <TaskLine task={task} />}
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

interface Filter {
  /** Of a task, or `failed`: ended with failures. */
  readonly state: string;
  readonly type: string;
  readonly layer: string;
  /** Days; empty: of any age. */
  readonly days: string;
}

const DAY_MS = 86_400_000;

function filterOf(query: URLSearchParams): Filter {
  const [state = '', type = '', layer = '', days = ''] = ['state', 'type', 'layer', 'days'].map(
    (name) => query.get(name) ?? '',
  );
  return { state, type, layer, days: WORDS.sinces.some(([known]) => known === days) ? days : '' };
}

function search({ state, days, ...others }: Filter): string {
  const query = {
    ...others,
    state: state === FAILED ? 'done,aborted' : state,
    since: days === '' ? '' : new Date(Date.now() - Number(days) * DAY_MS).toISOString(),
    limit: String(PAGE),
  };
  return new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
}

function fits(task: Task, { state, type, layer, days }: Filter): boolean {
  return (
    (state === '' || (state === FAILED ? hasFailed(task) : task.state === state)) &&
    (type === '' || task.type === type) &&
    (layer === '' || task.layer === layer) &&
    (days === '' || Date.parse(task.createdAt) >= Date.now() - Number(days) * DAY_MS)
  );
}

function Filters(props: { filter: Filter; fault: LayerFault; onFault: (fault: LayerFault) => void }) {
  const { filter, fault, onFault } = props;
  const { invalidate: _, ...types } = WORDS.types;
  const fields = tied(filter, changeQuery);
  return (
    <div className="row">
      <Choice
        label={WORDS.state}
        options={{ '': WORDS.any, ...WORDS.states, [FAILED]: WORDS.withFailures }}
        {...fields.choice('state')}
      />
      <Choice label={WORDS.type} options={{ '': WORDS.any, ...types }} {...fields.choice('type')} />
      <Choice label={WORDS.created} options={WORDS.sinces} {...fields.choice('days')} />
      <LayerField fault={fault} onFault={onFault} {...fields.choice('layer')} />
    </div>
  );
}

const KINDS = [
  ['running', WORDS.stopRunning],
  ['pending', WORDS.stopPending],
  ['all', WORDS.stopAll],
] as const;

/** Of one layer, or of all that the caller may work on. */
function StopButtons({ layer, disabled }: { layer: string; disabled: boolean }) {
  const caller = useCaller();
  const action = useAction();
  if (!may(caller, 'operator')) return null;
  return (
    <>
      {KINDS.map(([kind, text]) => (
        <ConfirmButton
          key={kind}
          action={action}
          disabled={disabled}
          title={WORDS.stopQuestion(text, layer === '' ? '' : ` of ${layer}`)}
          verb={text}
          text={WORDS.stopText}
          onConfirm={() => stopTasks(kind, layer)}
        >
          {text}
        </ConfirmButton>
      ))}
      <ActionNotices action={action} />
    </>
  );
}

/** As GeoWebCache's clients do it: one request, however many tasks there are. */
async function stopTasks(kind: string, layer: string): Promise<string> {
  const path = layer === '' ? 'rest/seed' : `rest/seed/${part(layer)}`;
  await reach(path, { method: 'POST', body: new URLSearchParams({ kill_all: kind }) });
  return WORDS.stopped;
}
