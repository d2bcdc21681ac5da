import { type ReactNode, useState } from 'react';
import { send } from '../api/client.ts';
import type { Task } from '../api/task-feed.ts';
import { useAction } from '../api/use-action.ts';
import { countText } from '../format.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { Card, Copy, Empty, PageHead, ProblemNotice } from '../parts/basics.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { curl } from '../parts/curl.ts';
import { ChosenLayer } from '../parts/layer-field.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { AreaMap } from './seed-area.tsx';
import { Estimate, useEstimate } from './seed-estimate.tsx';
import { PlanFields } from './seed-fields.tsx';
import { type Plan, planFrom, queryOf, readPlan, TASK_TYPES, type TaskRequest } from './seed-plan.ts';

const WORDS = TEXTS.seed;
/** A request above is more often a slip than meant. */
const MANY_TILES = 1e9;

/** `#/seed/LAYER?type=…&gridSet=…&bounds=…` */
export default function Seed() {
  const { item, query } = useRoute();
  const caller = useCaller();
  if (!may(caller, 'operator')) return <Empty>{WORDS.needOperator}</Empty>;
  return (
    <>
      <PageHead title={WORDS.title} />
      <ChosenLayer wanted={item} onChange={(name) => goTo(addressOf('seed', name))}>
        {(layer, field) => <Form key={query.toString()} layer={layer} field={field} query={query} />}
      </ChosenLayer>
    </>
  );
}

function Form(props: {
  readonly layer: LayerInfo;
  readonly field: ReactNode;
  readonly query: URLSearchParams;
}) {
  const [plan, setPlan] = useState(() => planFrom(props.layer, props.query, 'seed'));
  if (!plan) return <Empty>{TEXTS.layers.empty}</Empty>;
  // What is drawn is told long after this was made: by then the plan may be another one.
  const change = (changes: Partial<Plan>) => setPlan((current) => current && { ...current, ...changes });
  const { request, faults } = readPlan(plan);
  return (
    <div className="grid">
      <Card title={WORDS.area} className="span-7 tall">
        <AreaMap set={plan.set} area={plan.area} onChange={(area) => change({ area })} />
      </Card>
      <div className="span-5 stack">
        <PlanFields plan={plan} faults={faults} types={TASK_TYPES} field={props.field} onChange={change} />
        <Start request={request} truncates={plan.type === 'truncate'} />
      </div>
      {request && (
        <Card title={TEXTS.tasks.curl} className="span-12">
          <Copy label={TEXTS.tasks.curl} text={curl('POST', 'api/v1/tasks', request)} />
        </Card>
      )}
    </div>
  );
}

/** Without a request there is nothing to start. */
function Start({
  request,
  truncates,
}: {
  readonly request: TaskRequest | null;
  readonly truncates: boolean;
}) {
  const estimate = useEstimate(request);
  const action = useAction();
  const [asking, setAsking] = useState(false);
  const start = () =>
    action.run(async () => {
      if (!request) return null;
      const task = await send<Task>('POST', 'api/v1/tasks', request);
      goTo(addressOf('tasks', String(task.id)));
      return null;
    });
  const { data } = estimate;
  const asks = truncates || (data?.tiles ?? 0) > MANY_TILES;
  return (
    <Card title={WORDS.estimate}>
      <div className="stack">
        {request ? (
          <Estimate resource={estimate} truncates={truncates} />
        ) : (
          <p className="quiet">{WORDS.faulty}</p>
        )}
        <ProblemNotice problem={action.problem} />
        <div className="row">
          <button
            type="button"
            className={truncates ? 'danger' : 'primary'}
            disabled={action.busy || !request || !data}
            onClick={() => (asks ? setAsking(true) : void start())}
          >
            {truncates ? WORDS.startTruncate : WORDS.start}
          </button>
          {request && (
            <a
              className="button"
              href={addressOf('schedules', 'new', { layer: request.layer, ...queryOf(request) })}
            >
              {TEXTS.schedules.fromSeed}
            </a>
          )}
        </div>
        {asking && request && data && (
          <Confirm
            title={truncates ? WORDS.confirmTitle : WORDS.manyTitle}
            action={truncates ? WORDS.confirmTitle : WORDS.start}
            {...(truncates && { name: request.layer })}
            onConfirm={() => void start()}
            onClose={() => setAsking(false)}
          >
            {truncates
              ? WORDS.confirmText(countText(data.tiles), request.layer)
              : WORDS.manyText(countText(data.tiles), countText(data.upstreamRequests))}
          </Confirm>
        )}
      </div>
    </Card>
  );
}
