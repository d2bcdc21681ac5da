import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { type ApiResponse, curl, fetchJson, part } from '../api/client.ts';
import { type Resource, useAction, useResource } from '../api/use-resource.ts';
import { bytesText, countText, fill } from '../format.ts';
import { WHOLE } from '../map/draw-area.ts';
import { type TileSet, tileSetQuery } from '../map/tile-set.ts';
import { ActionNotices, Button, Card, Check, Choice, Copy, Form, TextField, tied } from '../parts/basics.tsx';
import { Dialog, paragraphs } from '../parts/dialog.tsx';
import type { LayerFault } from '../parts/layer-field.tsx';
import { type Seeds, seedsAddress, seedsText } from '../parts/task-parts.tsx';
import { TileSetChoices } from '../parts/tile-set-choices.tsx';
import { mayWorkOn, useCaller } from '../session.tsx';
import type { TaskRequest, Work } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import { AreaFields, AreaMap } from './work-area.tsx';
import { CachedCount, Estimate, estimateWarnings, useCached, useEstimate } from './work-estimate.tsx';
import {
  type Call,
  combinationCount,
  type Faults,
  isMaking,
  isTask,
  type Plan,
  proposedZooms,
  readPlan,
  taskBody,
  worksOnCached,
} from './work-plan.ts';

type Coverage = ApiResponse<'GET /api/v1/layers/{layer}/coverage/{gridSet}'>;

const WORDS = TEXTS.seed;

/** The response to a task, an export, an invalidation or a schedule. */
export interface Started {
  readonly id: number;
  readonly tiles: number;
}

/** Requests of more tiles are usually mistakes. */
const MANY_TILES = 1e9;
const SHOWN_CALLS = 5;
/** Limit of combinations of formats and parameter values, each of which becomes a task. */
const MAX_COMBINATIONS = 1000;

interface WorkProps {
  readonly first: Plan;
  readonly types: readonly Work[];
  /** Fault of the layer field. */
  readonly fault: LayerFault;
  /** The requests of the form; none while the form has faults. */
  readonly callsOf: (request: TaskRequest, plan: Plan) => readonly Call[];
  /** Receives the first response; a returned text is shown in the form. */
  readonly onDone: (answer: Started, plan: Plan) => unknown;
  /** Further buttons; `request` is null while the form has faults. */
  readonly buttons: (request: TaskRequest | null, plan: Plan) => ReactNode;
  /** For schedules: the form saves the work and starts nothing. */
  readonly saves?: {
    /** Further fields, above the others. */
    readonly fields: ReactNode;
    readonly onTry: () => void;
    /** Whether the server has checked the current values of these fields. */
    readonly isChecked: boolean;
  };
}

/** Work on an area of a layer, now or by a schedule: seed, truncate, invalidate, export. */
export function WorkForm(props: WorkProps) {
  const { fault, callsOf, saves } = props;
  const [plan, setPlan] = useState(props.first);
  const action = useAction();
  const [question, setQuestion] = useState<ReactNode>(null);
  const coverage = useProposedZooms(plan, setPlan);
  // While a parameter value is being typed, the map keeps the former tile set, so that no tiles are made for a part of it.
  const [isTyping, setTyping] = useState(false);
  const drawn = useRef(plan.set);
  if (!isTyping) drawn.current = plan.set;
  // Applied to the current plan, because a drawing may be reported after the plan has changed.
  const change = (changes: Partial<Plan>) => {
    action.forget();
    setPlan((now) => ({ ...now, ...changes }));
  };
  const read = readPlan(plan);
  // No request before the server has checked the parameter values.
  const request = fault === null && coverage.data !== null ? read.request : null;
  const calls = request ? callsOf(request, plan) : [];
  const start = async () => {
    const responses: Started[] = [];
    for (const { method, path, body } of calls)
      responses.push((await fetchJson<Started>(method, path, body)).data);
    return responses[0] && props.onDone(responses[0], plan);
  };
  const run = () => action.run(start);
  const truncates = plan.type === 'truncate';
  // A save may be wanted before the server has checked the last keystroke.
  const [isWanted, setWanted] = useState(false);
  const isChecked = (saves?.isChecked ?? true) && (coverage.data !== null || coverage.problem !== null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a wanted save is sent once, with the checked values
  useEffect(() => {
    if (!isWanted || !isChecked) return;
    setWanted(false);
    if (calls.length > 0) void run();
  }, [isWanted, isChecked]);
  const save = () => {
    saves?.onTry();
    setWanted(true);
  };
  const typing = {
    onInput: ({ target }: FormEvent) => {
      setTyping(target instanceof HTMLInputElement && target.type === 'text');
      setWanted(false);
    },
    onBlur: () => setTyping(false),
  };
  const map = (
    <Card title={WORDS.area} className="span-7">
      <AreaMap set={drawn.current} area={plan.area} onChange={(area) => change({ area })} />
    </Card>
  );
  // Enter in a field saves a schedule, but does not start a task.
  return (
    <>
      <Form className="grid tops" onSubmit={() => saves && save()} noValidate {...typing}>
        {!saves && map}
        <div className="span-5 stack">
          {saves?.fields}
          <PlanFields
            plan={plan}
            faults={read.faults}
            parameterFault={coverage.problem?.message ?? null}
            types={props.types}
            onlyOne={saves !== undefined}
            onChange={change}
          />
          <Size plan={plan} request={request} isSaved={saves !== undefined}>
            {(isReady, asks) => (
              <>
                <ActionNotices action={action} />
                <div className="row">
                  <Button
                    type={saves ? 'submit' : 'button'}
                    kind={!saves && truncates ? 'danger' : 'primary'}
                    disabled={action.busy || !isReady || (!saves && calls.length === 0)}
                    {...(!saves && { onClick: () => (asks === null ? run() : setQuestion(asks)) })}
                  >
                    {saves ? TEXTS.save : WORDS.starts[plan.type]}
                  </Button>
                  {props.buttons(request, plan)}
                </div>
              </>
            )}
          </Size>
        </div>
        {saves && map}
        {calls.length > 0 && (
          <Card title={TEXTS.tasks.curl}>
            <Copy label={TEXTS.tasks.curl} text={commandsOf(calls)} />
          </Card>
        )}
      </Form>
      {question !== null && (
        <Dialog
          title={truncates ? WORDS.confirmTitle : WORDS.manyTitle}
          verb={truncates ? WORDS.confirmTitle : WORDS.starts.seed}
          name={truncates ? plan.set.layer.name : undefined}
          onConfirm={run}
          onClose={() => setQuestion(null)}
        >
          <div>{question}</div>
        </Dialog>
      )}
    </>
  );
}

/** Shell commands of the first requests, because each combination of an export has its own. */
function commandsOf(calls: readonly Call[]): string {
  const lines = calls.slice(0, SHOWN_CALLS).map(({ method, path, body }) => curl(method, path, body));
  const more = calls.length - lines.length;
  return [...lines, ...(more > 0 ? [`# ${fill(WORDS.moreCommands, { count: more })}`] : [])].join('\n');
}

/** Proposes zooms by the type of work and the zooms that have tiles. */
function useProposedZooms(plan: Plan, setPlan: (change: (now: Plan) => Plan) => void): Resource<Coverage> {
  const { set, type, every } = plan;
  const coverage = useResource<Coverage>(
    `api/v1/layers/${part(set.layer.name)}/coverage/${part(set.gridSet.name)}?${tileSetQuery(set)}`,
  );
  const zooms = coverage.data?.zooms;
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another type or tile set is a reason for other zooms
  useEffect(
    () => setPlan((now) => (zooms ? { ...now, ...proposedZooms(now, zooms) } : now)),
    [type, every, zooms],
  );
  return coverage;
}

function PlanFields(props: {
  plan: Plan;
  faults: Faults;
  parameterFault: string | null;
  types: readonly Work[];
  /** Limits the form to a single format and parameter value. */
  onlyOne: boolean;
  onChange: (changes: Partial<Plan>) => void;
}) {
  const { plan, faults, onlyOne, onChange } = props;
  const { zoomStart, zoomStop } = plan.set.gridSet;
  const fields = tied(plan, onChange);
  const combinations = combinationCount(plan.set.layer);
  const changeSet = (set: TileSet) => {
    const clamped = (text: string) => {
      const number = Math.min(set.gridSet.zoomStop, Math.max(set.gridSet.zoomStart, Number(text)));
      return text.trim() === '' || Number.isNaN(number) ? text : String(number);
    };
    onChange({
      set,
      ...(set.gridSet.name !== plan.set.gridSet.name && plan.area.kind !== 'named' && { area: WHOLE }),
      zoomStart: clamped(plan.zoomStart),
      zoomStop: clamped(plan.zoomStop),
    });
  };
  const number = (
    name: 'zoomStart' | 'zoomStop' | 'threadCount' | 'percent',
    label: string,
    min: number,
    max?: number,
  ) => {
    const chosen = name in WORDS.zooms && { zoomsProposed: false };
    return (
      <TextField
        type="number"
        min={min}
        max={max}
        label={label}
        error={faults[name] ?? null}
        value={plan[name]}
        onText={(text) => onChange({ [name]: text, ...chosen })}
      />
    );
  };
  return (
    <Card title={TEXTS.tasks.request}>
      <div className="stack">
        <Choice
          label={TEXTS.tasks.type}
          options={props.types.map((type) => [type, TEXTS.work[type]])}
          {...fields.choice('type')}
        />
        <div className="form-grid tops">
          <TileSetChoices
            set={plan.set}
            onChange={changeSet}
            fault={props.parameterFault}
            gridSetOnly={plan.every}
          />
          {plan.type === 'export' && (
            <Choice label={WORDS.archive} options={WORDS.archives} {...fields.choice('archive')} />
          )}
        </div>
        <div className="form-grid tops">
          {number('zoomStart', WORDS.zooms.zoomStart, zoomStart, zoomStop)}
          {number('zoomStop', WORDS.zooms.zoomStop, zoomStart, zoomStop)}
          {isTask(plan.type) && number('threadCount', TEXTS.tasks.threads, 1)}
        </div>
        {isMaking(plan.type) && <Check label={WORDS.byUse} {...fields.check('byUse')} />}
        {isMaking(plan.type) && plan.byUse && number('percent', WORDS.percent, 1, 100)}
        {!onlyOne && combinations > 1 && combinations <= MAX_COMBINATIONS && (
          <Check label={fill(WORDS.every, { count: combinations })} {...fields.check('every')} />
        )}
        <AreaFields
          set={plan.set}
          area={plan.area}
          fault={faults.bounds ?? null}
          onChange={(area) => onChange({ area })}
        />
      </div>
    </Card>
  );
}

/** The estimated size of the request, and the buttons beneath. */
function Size(props: {
  plan: Plan;
  request: TaskRequest | null;
  isSaved: boolean;
  children: (isReady: boolean, asks: ReactNode) => ReactNode;
}) {
  const { request, plan, isSaved } = props;
  const { type, every, set } = plan;
  const onCached = worksOnCached(type);
  const allowed = mayWorkOn(useCaller(), set.layer.name);
  const counted = allowed ? request : null;
  const estimate = useEstimate(
    isTask(type) && !onCached && counted ? taskBody(counted, every) : null,
    type === 'seed',
  );
  const cached = useCached(onCached ? counted : null, every);
  const { data } = estimate;
  const tiles = onCached ? cached.data?.tiles : data?.tiles;
  const isEmpty = data?.all === 0;
  // A seed without missing tiles can start, because it may renew expired ones.
  const canStart = onCached ? Boolean(tiles) : tiles !== undefined && !isEmpty;
  const meaning = type in WORDS.means ? WORDS.means[type as keyof typeof WORDS.means] : null;
  const isReady = allowed && (isSaved || canStart);
  const emptyText = isEmpty && plan.byUse ? WORDS.unused : WORDS.nothingToDo;
  const seeds = useResource<Seeds>(type === 'truncate' ? seedsAddress(set.layer.name) : null);
  const asks = isSaved ? null : questionOf(type, set.layer.name, cached.data, data, seeds.data);
  return (
    <Card title={isTask(type) ? WORDS.estimate : TEXTS.work[type]}>
      <div className="stack">
        {!request && <p className="quiet">{WORDS.faulty}</p>}
        {counted && isTask(type) && !onCached && <Estimate resource={estimate} />}
        {counted && onCached && <CachedCount resource={cached} />}
        {request && meaning && <p className="quiet">{meaning}</p>}
        {request && tiles === 0 && !isSaved && (
          <p className="quiet">{onCached || isEmpty ? emptyText : WORDS.allCached}</p>
        )}
        {!allowed && <p className="notice warn">{TEXTS.notYours}</p>}
        {props.children(isReady, asks)}
      </div>
    </Card>
  );
}

/** The question before a truncation or a very large task; null for others. */
function questionOf(
  type: Work,
  layer: string,
  cached: ReturnType<typeof useCached>['data'],
  estimate: ReturnType<typeof useEstimate>['data'],
  seeds: Seeds | null,
): ReactNode {
  if (type === 'truncate' && cached)
    return paragraphs([
      fill(WORDS.confirmText, { count: cached.tiles, bytes: bytesText(cached.bytes), layer }),
      seeds && seedsText(seeds),
    ]);
  if (!estimate || estimate.tiles <= MANY_TILES) return null;
  const warnings = estimateWarnings(estimate).map(([, text]) => text);
  const size = fill(WORDS.manyText, {
    tiles: countText(estimate.tiles),
    requests: countText(estimate.upstreamRequests),
  });
  return [size, ...warnings].join(' ');
}
