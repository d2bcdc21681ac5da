import type { KeyboardEvent } from 'react';
import { type OfferedLayer, type TileSet, withParameter } from '../map/tile-set.ts';
import { TEXTS } from '../texts.ts';
import { Choice, Input, TextField } from './basics.tsx';

interface SetProps<Layer extends OfferedLayer> {
  readonly set: TileSet<Layer>;
  readonly onChange: (set: TileSet<Layer>) => void;
  /** The server's message, which names its parameter, or null. Absent: a value takes effect when its field is left. */
  readonly fault?: string | null;
}

export function TileSetChoices<Layer extends OfferedLayer>(
  props: SetProps<Layer> & { readonly gridSetOnly?: boolean },
) {
  const { set, onChange, fault, gridSetOnly = false } = props;
  const { layer, gridSet, format } = set;
  return (
    <>
      <Choice
        label={TEXTS.layer.gridSet}
        value={gridSet.name}
        options={layer.gridSets.map(({ name }) => name)}
        onChange={(name) => {
          const chosen = layer.gridSets.find((one) => one.name === name);
          if (chosen) onChange({ ...set, gridSet: chosen });
        }}
      />
      {!gridSetOnly && (
        <Choice
          label={TEXTS.layer.format}
          value={format}
          options={layer.formats}
          onChange={(chosen) => onChange({ ...set, format: chosen })}
        />
      )}
      {!gridSetOnly &&
        layer.parameters.map((parameter) => (
          <Parameter
            key={parameter.name}
            parameter={parameter}
            set={set}
            {...(fault !== undefined && { fault: fault?.includes(parameter.name) ? fault : null })}
            onChange={onChange}
          />
        ))}
    </>
  );
}

function Parameter<Layer extends OfferedLayer>(
  props: SetProps<Layer> & { readonly parameter: Layer['parameters'][number] },
) {
  const { set, onChange, fault } = props;
  const { name, default: defaultValue, values } = props.parameter;
  const value = set.parameters[name] ?? defaultValue;
  const choose = (chosen: string) => onChange(withParameter(set, name, chosen));
  if (values) {
    const offered = values.includes(defaultValue) ? values : [defaultValue, ...values];
    const options = offered.map((one) => [one, one || TEXTS.serving.emptyValue] as const);
    return <Choice label={name} value={value} options={options} onChange={choose} />;
  }
  if (fault === undefined) {
    const applyOnEnter = (event: KeyboardEvent<HTMLInputElement>) => {
      if (event.key !== 'Enter') return;
      // Enter would submit the form around it with the former value.
      event.preventDefault();
      choose(event.currentTarget.value);
    };
    return (
      <Input
        key={value} // A new value from outside replaces the text.
        label={name}
        defaultValue={value}
        onKeyDown={applyOnEnter}
        onBlur={({ target }) => target.value !== value && choose(target.value)}
      />
    );
  }
  // The server would take an empty value as the default.
  const missing = value === '' && defaultValue !== '' ? TEXTS.seed.emptyParameter : null;
  return <TextField label={name} value={value} error={missing ?? fault} onText={choose} />;
}
