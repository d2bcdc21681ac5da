import { type FormEvent, useMemo, useState } from 'react';
import { type Answer, part, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { Card, Choice, Copy, Empty, Loaded, PageHead, ProblemNotice, TextField } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import {
  bodyOf,
  draftOf,
  faultFrom,
  faultsOf,
  type Schedule,
  type ScheduleDraft,
  WORK,
} from './schedule-draft.ts';
import { ScheduleTimes } from './schedule-times.tsx';
import { AreaFields, AreaMap } from './seed-area.tsx';
import { PlanFields } from './seed-fields.tsx';

const WORDS = TEXTS.schedules;

/** A new schedule, or, with an id, one to be changed. */
export default function ScheduleForm({ id }: { readonly id: string | null }) {
  const caller = useCaller();
  const schedule = useResource<Schedule>(id === null ? null : `api/v1/schedules/${part(id)}`);
  if (!may(caller, 'operator')) return <Empty>{WORDS.needOperator}</Empty>;
  if (id === null) {
    return (
      <>
        <PageHead title={WORDS.newTitle} />
        <ChooseLayer schedule={null} />
      </>
    );
  }
  return (
    <Loaded resource={schedule}>
      {(data) => (
        <>
          <PageHead title={WORDS.editTitle(data.name)} />
          <ChooseLayer schedule={data} />
        </>
      )}
    </Loaded>
  );
}

function ChooseLayer({ schedule }: { readonly schedule: Schedule | null }) {
  const { query } = useRoute();
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers');
  return (
    <Loaded resource={layers}>
      {({ layers: all }) => {
        const wanted = query.get('layer') ?? schedule?.layer;
        const name = all.find((layer) => layer.name === wanted)?.name ?? all[0]?.name;
        if (name === undefined) return <Empty>{TEXTS.seed.noLayer}</Empty>;
        const options = all.map((layer) => [layer.name, layer.title || layer.name] as const);
        return <OneLayer key={name} name={name} options={options} schedule={schedule} />;
      }}
    </Loaded>
  );
}

interface LayerProps {
  readonly options: readonly (readonly [string, string])[];
  readonly schedule: Schedule | null;
}

function OneLayer({ name, ...props }: LayerProps & { readonly name: string }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(name)}`);
  return <Loaded resource={layer}>{(data) => <Form layer={data} {...props} />}</Loaded>;
}

function Form({ layer, options, schedule }: LayerProps & { readonly layer: LayerInfo }) {
  const { query } = useRoute();
  const own = schedule?.layer === layer.name ? schedule : null;
  const first = useMemo(() => draftOf(layer, query, own), [layer, query, own]);
  const [draft, setDraft] = useState(first);
  const [tried, setTried] = useState(false);
  // What the server said holds for what was sent, not for what is typed since.
  const [sent, setSent] = useState<ScheduleDraft | null>(null);
  const action = useAction();
  if (!draft) return <Empty>{TEXTS.seed.noLayer}</Empty>;

  const change = (changes: Partial<ScheduleDraft>) => setDraft((now) => now && { ...now, ...changes });
  // What is drawn is told long after this was made: by then the plan may be another one.
  const changePlan = (changes: Partial<ScheduleDraft['plan']>) =>
    setDraft((now) => now && { ...now, plan: { ...now.plan, ...changes } });
  const [method, path] =
    schedule === null
      ? (['POST', 'api/v1/schedules'] as const)
      : (['PUT', `api/v1/schedules/${schedule.id}`] as const);
  const ownFaults = faultsOf(draft);
  const told = action.problem && draft === sent ? faultFrom(action.problem.message) : {};
  const faults = { ...told, ...(tried ? ownFaults : { ...ownFaults, name: undefined }) };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    setSent(draft);
    if (Object.keys(ownFaults).length > 0) return;
    void action.run(async () => {
      const saved = await send<Schedule>(method, path, bodyOf(draft));
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
        <Card title={WORDS.what}>
          <div className="stack">
            <Choice
              label={TEXTS.tasks.layer}
              value={layer.name}
              options={options}
              onChange={(name) => goTo(otherLayer(schedule, draft, name))}
            />
            <Choice
              label={TEXTS.tasks.type}
              value={draft.plan.type}
              options={WORK.map((type) => [type, WORDS.types[type]] as const)}
              onChange={(type) => changePlan({ type })}
            />
            <PlanFields plan={draft.plan} onChange={changePlan} />
            {draft.kept.area !== undefined && draft.plan.area.kind === 'whole' ? (
              <KeptArea onDrop={() => change({ kept: {} })} />
            ) : (
              <AreaFields
                set={draft.plan.set}
                area={draft.plan.area}
                onChange={(area) => changePlan({ area })}
              />
            )}
          </div>
        </Card>
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
      <Card title={TEXTS.tasks.curl} className="span-12">
        <Copy label={TEXTS.tasks.curl} text={curl(method, path, bodyOf(draft))} />
      </Card>
    </form>
  );
}

/** The same form for another layer: what was typed goes along. */
function otherLayer(
  schedule: Schedule | null,
  { name, cron, timeZone }: ScheduleDraft,
  layer: string,
): string {
  const item = schedule ? String(schedule.id) : 'new';
  return addressOf('schedules', item, { ...(schedule && { edit: '' }), layer, name, cron, timeZone });
}

function KeptArea({ onDrop }: { readonly onDrop: () => void }) {
  return (
    <p className="notice">
      {WORDS.keptArea}{' '}
      <button type="button" onClick={onDrop}>
        {WORDS.dropArea}
      </button>
    </p>
  );
}
