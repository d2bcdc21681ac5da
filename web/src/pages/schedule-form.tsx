import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { Card, Copy, Empty, Loaded, PageHead, ProblemNotice, TextField } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { ChosenLayer } from '../parts/layer-field.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { draftOf, faultsFrom, readDraft, type Schedule, type ScheduleDraft, WORK } from './schedule-draft.ts';
import { ScheduleTimes } from './schedule-times.tsx';
import { AreaMap } from './seed-area.tsx';
import { PlanFields } from './seed-fields.tsx';
import type { Plan } from './seed-plan.ts';

const WORDS = TEXTS.schedules;

/** A new schedule, or, with an id, one to be changed. */
export default function ScheduleForm({ id }: { readonly id: string | null }) {
  const caller = useCaller();
  const schedule = useResource<Schedule>(id === null ? null : `api/v1/schedules/${part(id)}`);
  if (!may(caller, 'operator')) return <Empty>{WORDS.needOperator}</Empty>;
  if (id === null) return <OfLayer schedule={null} />;
  return <Loaded resource={schedule}>{(data) => <OfLayer schedule={data} />}</Loaded>;
}

function OfLayer({ schedule }: { readonly schedule: Schedule | null }) {
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
      <PageHead title={schedule ? WORDS.editTitle(schedule.name) : WORDS.newTitle} />
      <ChosenLayer wanted={query.get('layer') ?? schedule?.layer ?? null} onChange={change}>
        {(layer, field) => (
          <Form
            key={query.toString()}
            layer={layer}
            field={field}
            schedule={schedule}
            onDraft={(typed) => {
              draft.current = typed;
            }}
          />
        )}
      </ChosenLayer>
    </>
  );
}

interface FormProps {
  readonly layer: LayerInfo;
  readonly field: ReactNode;
  readonly schedule: Schedule | null;
  readonly onDraft: (draft: ScheduleDraft | null) => void;
}

function Form({ layer, field, schedule, onDraft }: FormProps) {
  const { query } = useRoute();
  const same = schedule?.layer === layer.name ? schedule : null;
  const [draft, setDraft] = useState(() => draftOf(layer, query, same));
  const [tried, setTried] = useState(false);
  // What the server said holds for what was sent, not for what is typed since.
  const [sent, setSent] = useState<ScheduleDraft | null>(null);
  const action = useAction();
  onDraft(draft);
  if (!draft) return <Empty>{TEXTS.layers.empty}</Empty>;

  const change = (changes: Partial<ScheduleDraft>) => setDraft((now) => now && { ...now, ...changes });
  // What is drawn is told long after this was made: by then the plan may be another one.
  const changePlan = (changes: Partial<Plan>) =>
    setDraft((now) => now && { ...now, plan: { ...now.plan, ...changes } });
  const [method, path] =
    schedule === null
      ? (['POST', 'api/v1/schedules'] as const)
      : (['PUT', `api/v1/schedules/${schedule.id}`] as const);
  const { body, faults: own } = readDraft(draft);
  const told = action.problem && draft === sent ? faultsFrom(action.problem.message) : {};
  const faults = { ...told, ...(tried ? own : { ...own, name: undefined }) };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    setSent(draft);
    if (!body) return;
    void action.run(async () => {
      const saved = await send<Schedule>(method, path, body);
      goTo(addressOf('schedules', String(saved.id)));
      return null;
    });
  };
  return (
    <form className="grid" onSubmit={submit} noValidate>
      <div className="span-5 stack">
        <Card title={WORDS.when}>
          <div className="stack">
            <TextField
              label={WORDS.name}
              value={draft.name}
              error={faults.name ?? null}
              onChange={({ target }) => change({ name: target.value })}
            />
            <ScheduleTimes draft={draft} faults={faults} onChange={change} />
          </div>
        </Card>
        <PlanFields plan={draft.plan} faults={faults} types={WORK} field={field} onChange={changePlan} />
        {draft === sent && <ProblemNotice problem={action.problem} />}
        <div className="row">
          <button type="submit" className="primary" disabled={action.busy}>
            {TEXTS.save}
          </button>
          <a className="button" href={addressOf('schedules', schedule ? String(schedule.id) : '')}>
            {TEXTS.cancel}
          </a>
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
    </form>
  );
}
