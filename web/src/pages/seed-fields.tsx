import type { ReactNode } from 'react';
import { WHOLE } from '../map/draw-area.ts';
import type { TileSet } from '../map/tile-set.ts';
import { Card, Choice, TextField, tied } from '../parts/basics.tsx';
import { TileSetChoices } from '../parts/tile-set-choices.tsx';
import { TEXTS } from '../texts.ts';
import { AreaFields } from './seed-area.tsx';
import { type Faults, type Plan, TASK_TYPES, type Work } from './seed-plan.ts';

const WORDS = TEXTS.seed;

/** What is to be done: layer, type, grid set, format, parameters, zooms, threads and area. */
export function PlanFields(props: {
  plan: Plan;
  faults: Faults;
  types: readonly Work[];
  /** Of the layer. */
  field: ReactNode;
  children?: ReactNode;
  onChange: (changes: Partial<Plan>) => void;
}) {
  const { plan, faults, onChange } = props;
  const { zoomStart, zoomStop } = plan.set.gridSet;
  const fields = tied(plan, onChange);
  const isTask = TASK_TYPES.some((type) => type === plan.type);
  const changeSet = (set: TileSet) => {
    const clamped = (text: string) => {
      const number = Math.min(set.gridSet.zoomStop, Math.max(set.gridSet.zoomStart, Number(text)));
      return text.trim() === '' || Number.isNaN(number) ? text : String(number);
    };
    onChange({
      set,
      ...(set.gridSet.name !== plan.set.gridSet.name && { area: WHOLE }),
      zoomStart: clamped(plan.zoomStart),
      zoomStop: clamped(plan.zoomStop),
    });
  };
  const number = (name: 'zoomStart' | 'zoomStop' | 'threadCount', label: string, fault?: string) => (
    <TextField
      type="number"
      min={name === 'threadCount' ? 1 : zoomStart}
      max={name === 'threadCount' ? undefined : zoomStop}
      label={label}
      error={fault ?? null}
      value={plan[name]}
      onText={(text) => onChange({ [name]: text, ...(name !== 'threadCount' && { zoomsProposed: false }) })}
    />
  );
  return (
    <Card title={TEXTS.tasks.request}>
      <div className="stack">
        {props.field}
        <Choice
          label={TEXTS.tasks.type}
          options={props.types.map((type) => [type, TEXTS.work[type]])}
          {...fields.choice('type')}
        />
        <div className="form-grid tops">
          <TileSetChoices
            set={plan.set}
            onChange={changeSet}
            gridSetOnly={plan.every || plan.type === 'blank'}
          />
          {number('zoomStart', WORDS.zoomStart, faults.zoomStart)}
          {number('zoomStop', WORDS.zoomStop, faults.zoomStop)}
          {isTask && number('threadCount', TEXTS.tasks.threads, faults.threads)}
        </div>
        {props.children}
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
