import { type ReactNode, useEffect, useState } from 'react';
import { type Answer, ask, part } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { bytesText, countText } from '../format.ts';
import { type LayerInfo, tileSetQuery } from '../map/tile-set.ts';
import {
  ActionNotices,
  Button,
  Card,
  Check,
  Choice,
  Copy,
  Empty,
  LinkButton,
  PageHead,
  tied,
} from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { Confirm } from '../parts/dialog.tsx';
import { ChosenLayer, type LayerFault } from '../parts/layer-field.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { mayWorkOn, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { AreaMap } from './seed-area.tsx';
import { CachedCount, Estimate, estimateWarnings, useCached, useEstimate } from './seed-estimate.tsx';
import { PlanFields } from './seed-fields.tsx';
import {
  AREA_WORK,
  type Call,
  callsFor,
  combinationsOf,
  type Plan,
  planFrom,
  proposedZooms,
  queryOf,
  readPlan,
  TASK_TYPES,
  type TaskRequest,
  worksOnCached,
} from './seed-plan.ts';

const WORDS = TEXTS.seed;
/** What answers to a task, and to an invalidation. */
interface Started {
  readonly id: number;
  readonly tiles: number;
}

/** A request above is more often a slip than meant. */
const MANY_TILES = 1e9;

/** `#/seed/LAYER?type=…&gridSet=…&bounds=…` */
export default function Seed() {
  const { item, query } = useRoute();
  return (
    <>
      <PageHead title={TEXTS.nav.seed} />
      <ChosenLayer wanted={item} onChange={(name) => goTo(addressOf('seed', name))}>
        {(layer, field, fault) => (
          <Form key={query.toString()} layer={layer} field={field} fault={fault} query={query} />
        )}
      </ChosenLayer>
    </>
  );
}

function Form(props: { layer: LayerInfo; field: ReactNode; fault: LayerFault; query: URLSearchParams }) {
  const [plan, setPlan] = useState(() => planFrom(props.layer, props.query, 'seed'));
  const set = plan?.set;
  const zooms = useResource<Answer<'/api/v1/layers/{layer}/coverage/{gridSet}'>>(
    set
      ? `api/v1/layers/${part(set.layer.name)}/coverage/${part(set.gridSet.name)}?${tileSetQuery(set)}`
      : null,
  ).data?.zooms;
  const { type, every } = plan ?? {};
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another type or tile set is a reason for other zooms
  useEffect(
    () => setPlan((now) => (now && zooms ? { ...now, ...proposedZooms(now, zooms) } : now)),
    [type, every, zooms],
  );
  if (!plan) return <Empty>{TEXTS.layers.empty}</Empty>;
  // What is drawn is told long after this was made: by then the plan may be another one.
  const change = (changes: Partial<Plan>) => setPlan((current) => current && { ...current, ...changes });
  const fields = tied(plan, change);
  const { faults, ...read } = readPlan(plan);
  const request = props.fault === null ? read.request : null;
  const calls = request ? callsFor(request, plan) : [];
  return (
    <div className="grid">
      <Card title={WORDS.area} className="span-7 tall">
        <AreaMap set={plan.set} area={plan.area} onChange={(area) => change({ area })} />
      </Card>
      <div className="span-5 stack">
        <PlanFields plan={plan} faults={faults} types={AREA_WORK} field={props.field} onChange={change}>
          {plan.type === 'export' && (
            <Choice label={WORDS.archive} options={WORDS.archives} {...fields.choice('archive')} />
          )}
          {plan.type !== 'blank' && combinationsOf(props.layer).length > 1 && (
            <Check label={WORDS.every(combinationsOf(props.layer).length)} {...fields.check('every')} />
          )}
        </PlanFields>
        <Start plan={plan} request={request} calls={calls} />
      </div>
      {calls.length > 0 && (
        <Card title={TEXTS.tasks.curl} className="span-12">
          <Copy
            label={TEXTS.tasks.curl}
            text={calls.map(({ path, body }) => curl('POST', path, body)).join('\n')}
          />
        </Card>
      )}
    </div>
  );
}

function Start(props: { plan: Plan; request: TaskRequest | null; calls: readonly Call[] }) {
  const { plan, request, calls } = props;
  const { type, every } = plan;
  const isTask = TASK_TYPES.some((one) => one === type);
  const truncates = type === 'truncate';
  const allowed = mayWorkOn(useCaller(), plan.set.layer.name);
  const counted = allowed ? request : null;
  const estimate = useEstimate(isTask && !truncates ? counted : null, calls.length);
  const cached = useCached(worksOnCached(type) ? counted : null, every);
  const action = useAction();
  const [asking, setAsking] = useState(false);
  const start = async () => {
    const answers: Started[] = [];
    for (const { path, body } of calls) answers.push((await ask<Started>('POST', path, body)).data);
    const [first] = answers;
    if (!request || !first) return;
    if (type === 'invalidate') return WORDS.invalidated(countText(first.tiles));
    if (!isTask) goTo(addressOf('layers', request.layer));
    else if (calls.length > 1) goTo(addressOf('tasks', '', { layer: request.layer }));
    else goTo(addressOf('tasks', String(first.id)));
  };
  const { data } = estimate;
  const asks = truncates || (data?.tiles ?? 0) > MANY_TILES;
  const tiles = type === 'blank' ? null : worksOnCached(type) ? cached.data?.tiles : data?.tiles;
  // A seed may still renew tiles that have expired.
  const ready = worksOnCached(type) ? Boolean(tiles) : tiles !== undefined;
  return (
    <Card title={isTask ? WORDS.estimate : TEXTS.work[type]}>
      <div className="stack">
        {!request && <p className="quiet">{WORDS.faulty}</p>}
        {counted && isTask && !truncates && <Estimate resource={estimate} />}
        {counted && worksOnCached(type) && <CachedCount resource={cached} />}
        {request && !isTask && <p className="quiet">{WORDS.means[type]}</p>}
        {request && tiles === 0 && (
          <p className="quiet">{worksOnCached(type) ? WORDS.nothingToDo : WORDS.allCached}</p>
        )}
        {!allowed && <p className="notice warn">{TEXTS.notYours}</p>}
        <ActionNotices action={action} />
        <div className="row">
          <Button
            kind={truncates ? 'danger' : 'primary'}
            disabled={action.busy || !allowed || !request || !ready}
            onClick={() => (asks ? setAsking(true) : action.run(start))}
          >
            {WORDS.starts[type]}
          </Button>
          {allowed && request && calls.length === 1 && (isTask || type === 'invalidate') && (
            <LinkButton href={addressOf('schedules', 'new', { layer: request.layer, ...queryOf(request) })}>
              {TEXTS.schedules.fromSeed}
            </LinkButton>
          )}
        </div>
        {asking && request && (
          <Confirm
            title={truncates ? WORDS.confirmTitle : WORDS.manyTitle}
            verb={truncates ? WORDS.confirmTitle : WORDS.starts.seed}
            name={truncates ? request.layer : undefined}
            onConfirm={() => action.run(start)}
            onClose={() => setAsking(false)}
          >
            {cached.data &&
              WORDS.confirmText(countText(cached.data.tiles), bytesText(cached.data.bytes), request.layer)}
            {data && WORDS.manyText(countText(data.tiles), countText(data.upstreamRequests))}
            {data &&
              estimateWarnings(data)
                .map(([, text]) => text)
                .join(' ')}
          </Confirm>
        )}
      </div>
    </Card>
  );
}
