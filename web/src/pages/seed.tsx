import { fill } from '../format.ts';
import type { LayerInfo } from '../map/tile-set.ts';
import { Empty, LinkButton, PageHead } from '../parts/basics.tsx';
import { ChosenLayer, type LayerFault } from '../parts/layer-field.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { mayWorkOn, useCaller } from '../session.tsx';
import { AREA_WORK, queryOf, type TaskRequest } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import { type Started, WorkForm } from './work-form.tsx';
import { callsFor, isName, isTask, type Plan, planFrom } from './work-plan.ts';

/** `#/seed/LAYER?type=…&gridSet=…&bounds=…`. The named area of the address stays with another layer. */
export default function Seed() {
  const { item, query } = useRoute();
  const area = query.get('area') ?? '';
  const kept = isName(area) ? { area } : {};
  return (
    <>
      <PageHead title={TEXTS.nav.seed} />
      <ChosenLayer wanted={item} onChange={(name) => goTo(addressOf('seed', name, kept))}>
        {(layer, fault) => <WorkNow key={query.toString()} layer={layer} fault={fault} query={query} />}
      </ChosenLayer>
    </>
  );
}

function WorkNow({ layer, fault, query }: { layer: LayerInfo; fault: LayerFault; query: URLSearchParams }) {
  const isOwn = mayWorkOn(useCaller(), layer.name);
  const plan = planFrom(layer, query, 'seed');
  if (!plan) return <Empty>{TEXTS.layers.empty}</Empty>;
  return (
    <WorkForm
      first={plan}
      types={AREA_WORK}
      fault={fault}
      callsOf={callsFor}
      onDone={showStarted}
      buttons={isOwn ? scheduleLink : () => null}
    />
  );
}

function showStarted({ id, tiles }: Started, { set: { layer }, type, every }: Plan) {
  if (type === 'invalidate') return fill(TEXTS.seed.invalidated, { count: tiles });
  if (!isTask(type)) goTo(addressOf('layers', layer.name));
  else goTo(every ? addressOf('tasks', '', { layer: layer.name }) : addressOf('tasks', String(id)));
}

function scheduleLink(request: TaskRequest | null, { type, every }: Plan) {
  if (!request || every || !(isTask(type) || type === 'invalidate')) return null;
  return (
    <LinkButton href={addressOf('schedules', 'new', { layer: request.layer, ...queryOf(request) })}>
      {TEXTS.schedules.fromSeed}
    </LinkButton>
  );
}
