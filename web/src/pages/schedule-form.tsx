import { type ReactNode, type RefObject, useMemo, useRef, useState } from 'react';
import { part, type Reply, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { cronText } from '../cron-text.ts';
import { timeText } from '../format.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import {
  Button,
  Card,
  Check,
  Choice,
  Copy,
  Empty,
  Form,
  LinkButton,
  Loaded,
  PageHead,
  ProblemNotice,
  Suggestions,
  TextField,
  tied,
} from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { ChosenLayer, type LayerFault } from '../parts/layer-field.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { draftOf, faultsFrom, readDraft, type Schedule, type ScheduleDraft, WORK } from './schedule-draft.ts';
import { AreaMap } from './seed-area.tsx';
import { Estimate, useEstimate } from './seed-estimate.tsx';
import { PlanFields } from './seed-fields.tsx';
import { type Faults, type Plan, readPlan } from './seed-plan.ts';

type Preview = Extract<Reply<'POST /api/v1/schedules'>, { nextRuns: string[] }>;

const WORDS = TEXTS.schedules;

export default function ScheduleForm({ id }: { id: string | null }) {
  const caller = useCaller();
  const schedule = useResource<Schedule>(id === null ? null : `api/v1/schedules/${part(id)}`);
  if (!may(caller, 'operator'))
    return <Empty>{TEXTS.needRole(TEXTS.nav.schedules, TEXTS.roles.operator)}</Empty>;
  if (id === null) return <OfLayer schedule={null} />;
  return <Loaded resource={schedule}>{(data) => <OfLayer schedule={data} />}</Loaded>;
}

function OfLayer({ schedule }: { schedule: Schedule | null }) {
  const { query } = useRoute();
  const draft = useRef<ScheduleDraft | null>(null);
  /** The same form for another layer: what was typed goes along. */
  const change = (layer: string) => {
    const { name = '', cron = '', timeZone = '' } = draft.current ?? {};
    const item = schedule ? String(schedule.id) : 'new';
    goTo(addressOf('schedules', item, { ...(schedule && { edit: '' }), layer, name, cron, timeZone }));
  };
  return (
    <>
      <PageHead title={schedule ? TEXTS.editTitle(schedule.name) : WORDS.newTitle} />
      <ChosenLayer wanted={query.get('layer') ?? schedule?.layer ?? null} onChange={change}>
        {(layer, field, fault) => (
          <Editor
            key={query.toString()}
            layer={layer}
            field={field}
            fault={fault}
            schedule={schedule}
            typed={draft}
          />
        )}
      </ChosenLayer>
    </>
  );
}

function Editor(props: {
  layer: LayerInfo;
  field: ReactNode;
  fault: LayerFault;
  schedule: Schedule | null;
  /** Gets what is typed. */
  typed: RefObject<ScheduleDraft | null>;
}) {
  const { layer, field, fault, schedule, typed } = props;
  const { query } = useRoute();
  const same = schedule?.layer === layer.name ? schedule : null;
  const [draft, setDraft] = useState(() => draftOf(layer, query, same));
  const [tried, setTried] = useState(false);
  // What the server said holds for what was sent, not for what is typed since.
  const [sent, setSent] = useState<ScheduleDraft | null>(null);
  const action = useAction();
  typed.current = draft;
  const planned = draft && fault === null ? readPlan(draft.plan).request : null;
  const estimated = planned && /^(re)?seed$/.test(planned.type) ? planned : null;
  const estimate = useEstimate(estimated, 1);
  if (!draft) return <Empty>{TEXTS.layers.empty}</Empty>;

  const change = (changes: Partial<ScheduleDraft>) => setDraft((now) => now && { ...now, ...changes });
  // What is drawn is told long after this was made: by then the plan may be another one.
  const changePlan = (changes: Partial<Plan>) =>
    setDraft((now) => now && { ...now, plan: { ...now.plan, ...changes } });
  const [method, path] =
    schedule === null
      ? (['POST', 'api/v1/schedules'] as const)
      : (['PUT', `api/v1/schedules/${schedule.id}`] as const);
  const { faults: own, ...read } = readDraft(draft);
  const body = fault === null ? read.body : null;
  const told = action.problem && draft === sent ? faultsFrom(action.problem.message) : {};
  const faults = { ...told, ...(tried ? own : { ...own, name: undefined }) };
  const submit = () => {
    setTried(true);
    setSent(draft);
    if (body) void action.run(() => send<Schedule>(method, path, body).then(open));
  };
  return (
    <Form className="grid" onSubmit={submit} noValidate>
      <div className="span-5 stack">
        <Card title={WORDS.when}>
          <div className="stack">
            <TextField label={TEXTS.name} error={faults.name ?? null} {...tied(draft, change).text('name')} />
            <ScheduleTimes draft={draft} faults={faults} body={body} onChange={change} />
          </div>
        </Card>
        <PlanFields plan={draft.plan} faults={faults} types={WORK} field={field} onChange={changePlan} />
        {estimated && (
          <Card title={TEXTS.seed.estimate}>
            <Estimate resource={estimate} />
          </Card>
        )}
        {draft === sent && <ProblemNotice problem={action.problem} />}
        <div className="row">
          <Button type="submit" kind="primary" disabled={action.busy}>
            {TEXTS.save}
          </Button>
          <LinkButton href={addressOf('schedules', schedule ? String(schedule.id) : '')}>
            {TEXTS.cancel}
          </LinkButton>
        </div>
      </div>
      <Card title={TEXTS.seed.area} className="span-7 tall">
        <AreaMap set={draft.plan.set} area={draft.plan.area} onChange={(area) => changePlan({ area })} />
      </Card>
      {body && (
        <Card title={TEXTS.tasks.curl} className="span-12">
          <Copy label={TEXTS.tasks.curl} text={curl(method, path, body)} />
        </Card>
      )}
    </Form>
  );
}

function open({ id }: Schedule): void {
  goTo(addressOf('schedules', String(id)));
}

function ScheduleTimes(props: {
  draft: ScheduleDraft;
  faults: Faults;
  /** What would be saved; null: it cannot be yet. */
  body: object | null;
  onChange: (changes: Partial<ScheduleDraft>) => void;
}) {
  const { draft, faults, body, onChange } = props;
  const fields = tied(draft, onChange);
  const preview = useResource<Preview>(body && 'api/v1/schedules?dryRun=true', null, body ?? {});
  const runs = preview.data?.nextRuns.map((time) => timeText(time, draft.timeZone)) ?? [];
  const nextRuns = runs.length === 0 ? '' : WORDS.nextRuns(runs.join('; '), draft.timeZone);
  const zones = useMemo(() => ['UTC', ...Intl.supportedValuesOf('timeZone')], []);
  return (
    <>
      <div className="stack tight">
        <TextField
          label={WORDS.cron}
          className="mono"
          spellCheck={false}
          error={faults.cron ?? null}
          help={[cronText(draft.cron) ?? '', nextRuns].filter((text) => text !== '').join('. ')}
          {...fields.text('cron')}
        />
        <div className="row">
          {WORDS.presets.map(([cron, text]) => (
            <Button
              key={cron}
              kind="chip"
              aria-pressed={draft.cron === cron}
              onClick={() => onChange({ cron })}
            >
              {text}
            </Button>
          ))}
        </div>
      </div>
      <TextField
        label={WORDS.timeZone}
        list="time-zones"
        error={faults.timeZone ?? null}
        {...fields.text('timeZone')}
      />
      <Suggestions id="time-zones" values={zones} />
      <div className="form-grid tops">
        <TextField type="time" label={WORDS.from} error={faults.hours ?? null} {...fields.text('from')} />
        <TextField type="time" label={WORDS.until} {...fields.text('until')} />
      </div>
      {draft.from === '' && draft.until === '' && <p className="small quiet">{WORDS.anyHourHelp}</p>}
      {draft.from !== '' && (
        <Choice label={WORDS.overrun} options={WORDS.overruns} {...fields.choice('overrun')} />
      )}
      <Check label={WORDS.enabled} {...fields.check('enabled')} />
    </>
  );
}
