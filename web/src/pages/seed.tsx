import { useMemo, useState } from 'react';
import { type Answer, part, send } from '../api/client.ts';
import type { Task } from '../api/task-feed.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { countText } from '../format.ts';
import { type LayerInfo, tileSetFrom, wishesOf } from '../map/tile-set.ts';
import { Card, Choice, Copy, Empty, Loaded, PageHead, ProblemNotice } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { curl } from '../parts/curl.ts';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { AreaFields, AreaMap } from './seed-area.tsx';
import { Estimate, useEstimate } from './seed-estimate.tsx';
import { PlanFields } from './seed-fields.tsx';
import { areaFrom, type Plan, requestOf } from './seed-plan.ts';

const WORDS = TEXTS.seed;
const TYPES = ['seed', 'reseed', 'truncate'] as const;
/** Levels that are proposed at first: few enough to be done at once. */
const FIRST_LEVELS = 4;

/** `#/seed/LAYER?type=…&gridSet=…&bounds=…` */
export default function Seed() {
  const { item } = useRoute();
  const caller = useCaller();
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers');
  if (!may(caller, 'operator')) return <Empty>{WORDS.needOperator}</Empty>;
  return (
    <>
      <PageHead title={WORDS.title} />
      <Loaded resource={layers}>
        {({ layers: all }) => {
          const name = all.find((layer) => layer.name === item)?.name ?? all[0]?.name;
          if (name === undefined) return <Empty>{WORDS.noLayer}</Empty>;
          const options = all.map((layer) => [layer.name, layer.title || layer.name] as const);
          return <OneLayer key={name} name={name} options={options} />;
        }}
      </Loaded>
    </>
  );
}

type Options = readonly (readonly [string, string])[];

function OneLayer({ name, options }: { readonly name: string; readonly options: Options }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(name)}`);
  return <Loaded resource={layer}>{(data) => <Form layer={data} options={options} />}</Loaded>;
}

function planFrom(layer: LayerInfo, query: URLSearchParams): Plan | null {
  const set = tileSetFrom(layer, query);
  if (!set) return null;
  const { zoomStart, zoomStop } = set.gridSet;
  const number = (name: string, usual: number) => Number(query.get(name) ?? usual);
  return {
    set,
    type: TYPES.find((type) => type === query.get('type')) ?? 'seed',
    area: areaFrom(query.get('bounds')),
    zoomStart: number('zoomStart', zoomStart),
    zoomStop: number('zoomStop', Math.min(zoomStop, zoomStart + FIRST_LEVELS)),
    threadCount: number('threadCount', 2),
  };
}

function Form({ layer, options }: { readonly layer: LayerInfo; readonly options: Options }) {
  const { query } = useRoute();
  const first = useMemo(() => planFrom(layer, query), [layer, query]);
  const [plan, setPlan] = useState(first);
  if (!plan) return <Empty>{WORDS.noLayer}</Empty>;
  // What is drawn is told long after this was made: by then the plan may be another one.
  const change = (changes: Partial<Plan>) => setPlan((current) => current && { ...current, ...changes });
  return (
    <div className="grid">
      <Card title={WORDS.area} className="span-7 tall">
        <AreaMap set={plan.set} area={plan.area} onChange={(area) => change({ area })} />
      </Card>
      <div className="span-5 stack">
        <Card title={WORDS.what}>
          <div className="stack">
            <Choice
              label={TEXTS.tasks.layer}
              value={layer.name}
              options={options}
              onChange={(name) => goTo(addressOf('seed', name))}
            />
            <Choice
              label={TEXTS.tasks.type}
              value={plan.type}
              options={TYPES.map((type) => [type, WORDS.types[type]] as const)}
              onChange={(type) => change({ type })}
            />
            <PlanFields plan={plan} onChange={change} />
            <AreaFields set={plan.set} area={plan.area} onChange={(area) => change({ area })} />
          </div>
        </Card>
        <Start plan={plan} />
      </div>
      <Card title={TEXTS.tasks.curl} className="span-12">
        <Copy label={TEXTS.tasks.curl} text={curl('POST', 'api/v1/tasks', requestOf(plan))} />
      </Card>
    </div>
  );
}

function Start({ plan }: { readonly plan: Plan }) {
  const estimate = useEstimate(plan);
  const action = useAction();
  const [asking, setAsking] = useState(false);
  const truncates = plan.type === 'truncate';
  const start = () =>
    action.run(async () => {
      const task = await send<Task>('POST', 'api/v1/tasks', requestOf(plan));
      goTo(addressOf('tasks', String(task.id)));
      return null;
    });
  const tiles = estimate.data ? countText(estimate.data.tiles) : TEXTS.unknown;
  return (
    <Card title={WORDS.estimate}>
      <div className="stack">
        <Estimate resource={estimate} plan={plan} />
        <ProblemNotice problem={action.problem} />
        <div className="row">
          <button
            type="button"
            className={truncates ? 'danger' : 'primary'}
            disabled={action.busy || estimate.data === null}
            onClick={() => (truncates ? setAsking(true) : void start())}
          >
            {truncates ? WORDS.startTruncate : WORDS.start}
          </button>
          <a className="button" href={scheduleAddress(plan)}>
            {TEXTS.schedules.fromSeed}
          </a>
        </div>
        {asking && (
          <Confirm
            title={WORDS.confirmTitle}
            action={WORDS.confirmTitle}
            name={plan.set.layer.name}
            onConfirm={() => void start()}
            onClose={() => setAsking(false)}
          >
            {WORDS.confirmText(tiles, plan.set.layer.name)}
          </Confirm>
        )}
      </div>
    </Card>
  );
}

/** The form of a new schedule that does the same; a polygon has no place in an address. */
function scheduleAddress({ set, type, area, zoomStart, zoomStop, threadCount }: Plan): string {
  return addressOf('schedules', 'new', {
    layer: set.layer.name,
    type,
    ...wishesOf(set),
    zoomStart: String(zoomStart),
    zoomStop: String(zoomStop),
    threadCount: String(threadCount),
    ...(area.kind === 'bounds' && { bounds: area.bounds.join(',') }),
  });
}
