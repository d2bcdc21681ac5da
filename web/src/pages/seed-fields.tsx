import type { TileSet } from '../map/tile-set.ts';
import { Field } from '../parts/basics.tsx';
import { TileSetChoices } from '../parts/tile-set-choices.tsx';
import { TEXTS } from '../texts.ts';
import type { Plan } from './seed-plan.ts';

const WORDS = TEXTS.seed;

/** Grid set, format, parameters, zooms and threads. */
export function PlanFields({
  plan,
  onChange,
}: {
  readonly plan: Omit<Plan, 'type'>;
  readonly onChange: (changes: Partial<Omit<Plan, 'type'>>) => void;
}) {
  const changeSet = (set: TileSet) => {
    const { zoomStart, zoomStop } = set.gridSet;
    onChange({
      set,
      ...(set.gridSet.name !== plan.set.gridSet.name && { area: { kind: 'whole' } }),
      zoomStart: Math.max(plan.zoomStart, zoomStart),
      zoomStop: Math.min(plan.zoomStop, zoomStop),
    });
  };
  return (
    <div className="form-grid">
      <TileSetChoices set={plan.set} onChange={changeSet} />
      <ZoomField
        label={WORDS.zoomStart}
        value={plan.zoomStart}
        set={plan.set}
        onChange={(zoomStart) => onChange({ zoomStart })}
      />
      <ZoomField
        label={WORDS.zoomStop}
        value={plan.zoomStop}
        set={plan.set}
        onChange={(zoomStop) => onChange({ zoomStop })}
      />
      <Field label={WORDS.threads}>
        <input
          type="number"
          min={1}
          value={Number.isNaN(plan.threadCount) ? '' : plan.threadCount}
          onChange={({ target }) => onChange({ threadCount: target.valueAsNumber })}
        />
      </Field>
    </div>
  );
}

function ZoomField(props: {
  readonly label: string;
  readonly value: number;
  readonly set: TileSet;
  readonly onChange: (value: number) => void;
}) {
  const { zoomStart, zoomStop } = props.set.gridSet;
  return (
    <Field label={props.label}>
      <input
        type="number"
        min={zoomStart}
        max={zoomStop}
        value={Number.isNaN(props.value) ? '' : props.value}
        onChange={({ target }) => props.onChange(target.valueAsNumber)}
      />
    </Field>
  );
}
