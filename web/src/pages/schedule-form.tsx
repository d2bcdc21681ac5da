import { useMemo, useState } from 'react';
import { type ApiResponse, isRefusal, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { cronText } from '../cron-text.ts';
import { fill, timeText } from '../format.ts';
import {
  Button,
  Card,
  Check,
  Choice,
  Empty,
  LinkButton,
  Loaded,
  PageHead,
  TextField,
  tied,
} from '../parts/basics.tsx';
import { ChosenLayer, type LayerFault, Suggestions } from '../parts/layer-field.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { queryOf, type TaskRequest } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import { SCHEDULED_WORK, type Schedule, scheduleBody, type When, whenFaults, whenOf } from './schedule.tsx';
import { WorkForm } from './work-form.tsx';
import { type Faults, faultsFrom, type Plan, planFrom } from './work-plan.ts';

type Preview = Extract<ApiResponse<'POST /api/v1/schedules'>, { nextRuns: string[] }>;

const WORDS = TEXTS.schedules;

export default function ScheduleForm({ id }: { id: string | null }) {
  const caller = useCaller();
  const schedule = useResource<Schedule>(id === null ? null : `api/v1/schedules/${part(id)}`);
  if (!may(caller, 'operator'))
    return <Empty>{fill(TEXTS.needRole, { what: TEXTS.nav.schedules, role: TEXTS.roles.operator })}</Empty>;
  if (id === null) return <OfLayer schedule={null} />;
  return <Loaded resource={schedule}>{(data) => <OfLayer schedule={data} />}</Loaded>;
}

function OfLayer({ schedule }: { schedule: Schedule | null }) {
  const { query } = useRoute();
  const [when, setWhen] = useState(() => whenOf(schedule));
  const item = schedule ? String(schedule.id) : 'new';
  const change = (layer: string) =>
    goTo(addressOf('schedules', item, { ...(schedule && { edit: '' }), layer }));
  return (
    <>
      <PageHead title={schedule ? fill(TEXTS.editTitle, { name: schedule.name }) : WORDS.newTitle} />
      <ChosenLayer wanted={query.get('layer') ?? schedule?.layer ?? null} onChange={change}>
        {(layer, fault) => {
          const same = schedule?.layer === layer.name ? new URLSearchParams(queryOf(schedule)) : null;
          const plan = planFrom(layer, same ?? query, 'seed', same !== null);
          if (!plan) return <Empty>{TEXTS.layers.empty}</Empty>;
          return (
            <Editor
              key={query.toString()}
              first={plan}
              fault={fault}
              schedule={schedule}
              when={when}
              onChange={(changes) => setWhen((now) => ({ ...now, ...changes }))}
            />
          );
        }}
      </ChosenLayer>
    </>
  );
}

function Editor(props: {
  first: Plan;
  fault: LayerFault;
  schedule: Schedule | null;
  when: When;
  onChange: (changes: Partial<When>) => void;
}) {
  const { first, fault, schedule, when, onChange } = props;
  const [tried, setTried] = useState(false);
  const { cron, timeZone, from, until } = when;
  const preview = useResource<Preview>('api/v1/schedules?dryRun=true', null, {
    layer: first.set.layer.name,
    name: when.name.trim() || WORDS.newTitle,
    cron,
    timeZone,
    ...(from !== '' && until !== '' && { hours: `${from}-${until}` }),
  });
  const refused = preview.problem && isRefusal(preview.problem) ? faultsFrom(preview.problem.message) : {};
  const faults = { ...refused, ...whenFaults(when) };
  const callsOf = (request: TaskRequest) => {
    if (Object.keys(faults).length > 0) return [];
    const path = schedule ? `api/v1/schedules/${schedule.id}` : 'api/v1/schedules';
    return [{ method: schedule ? 'PUT' : 'POST', path, body: scheduleBody(when, request, schedule) }];
  };
  const { name, ...shown } = faults;
  return (
    <WorkForm
      first={first}
      types={SCHEDULED_WORK}
      fault={fault}
      callsOf={callsOf}
      onDone={({ id }) => goTo(addressOf('schedules', String(id)))}
      buttons={() => (
        <LinkButton href={addressOf('schedules', schedule ? String(schedule.id) : '')}>
          {TEXTS.cancel}
        </LinkButton>
      )}
      saves={{
        onTry: () => setTried(true),
        isChecked: preview.data !== null || preview.problem !== null,
        fields: (
          <WhenFields
            when={when}
            nextRuns={preview.data?.nextRuns ?? []}
            faults={tried ? faults : shown}
            onChange={(changes) => {
              if ('name' in changes) setTried(true);
              onChange(changes);
            }}
          />
        ),
      }}
    />
  );
}

function WhenFields(props: {
  when: When;
  nextRuns: readonly string[];
  faults: Faults;
  onChange: (changes: Partial<When>) => void;
}) {
  const { when, faults, onChange } = props;
  const { cron, timeZone, from, until } = when;
  const error = (name: string) => faults[name] ?? null;
  const fields = tied(when, onChange);
  const runs = props.nextRuns.map((time) => timeText(time, timeZone));
  const nextRuns = runs.length === 0 ? '' : fill(WORDS.nextRuns, { runs: runs.join('; '), zone: timeZone });
  const zones = useMemo(() => ['UTC', ...Intl.supportedValuesOf('timeZone')], []);
  return (
    <Card title={WORDS.when}>
      <div className="stack">
        <TextField label={TEXTS.name} error={error('name')} {...fields.text('name')} />
        <div className="stack tight">
          <TextField
            label={WORDS.cron}
            className="mono"
            spellCheck={false}
            error={error('cron')}
            help={[cronText(cron) ?? '', nextRuns].filter((text) => text !== '').join('. ')}
            {...fields.text('cron')}
          />
          <div className="row">
            {Object.entries(WORDS.presets).map(([preset, text]) => (
              <Button
                key={preset}
                kind="chip"
                aria-pressed={cron === preset}
                onClick={() => onChange({ cron: preset })}
              >
                {text}
              </Button>
            ))}
          </div>
        </div>
        <TextField
          label={WORDS.timeZone}
          list="time-zones"
          error={error('timeZone')}
          {...fields.text('timeZone')}
        />
        <Suggestions id="time-zones" values={zones} />
        <div className="form-grid tops">
          <TextField
            type="time"
            label={WORDS.from}
            error={until === '' ? null : error('hours')}
            {...fields.text('from')}
          />
          <TextField
            type="time"
            label={WORDS.until}
            error={until === '' ? error('hours') : null}
            {...fields.text('until')}
          />
        </div>
        {from === '' && until === '' && <p className="small quiet">{WORDS.anyHourHelp}</p>}
        {from !== '' && (
          <Choice label={WORDS.overrun} options={WORDS.overruns} {...fields.choice('overrun')} />
        )}
        <Check label={WORDS.enabled} {...fields.check('enabled')} />
      </div>
    </Card>
  );
}
