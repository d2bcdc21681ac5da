import { type FormEvent, useMemo, useState } from 'react';
import { type Answer, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { type LayerInfo, type TileSet, tileSetFrom, wishesOf } from '../map/tile-set.ts';
import { Card, Choice, Empty, Field, Loaded, PageHead } from '../parts/basics.tsx';
import { TileSetChoices } from '../parts/tile-set-choices.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { TileDetails } from './tile-details.tsx';

const WORDS = TEXTS.inspect;

/** `#/inspect/LAYER?gridSet=…&format=…&tile=z/x/y` */
export default function Inspect() {
  const { item } = useRoute();
  const layers = useResource<Answer<'/api/v1/layers'>>('api/v1/layers');
  return (
    <>
      <PageHead title={WORDS.title} under={WORDS.help} />
      <Loaded resource={layers}>
        {({ layers: all }) => {
          const name = all.find((layer) => layer.name === item)?.name ?? all[0]?.name;
          if (name === undefined) return <Empty>{TEXTS.layers.empty}</Empty>;
          return (
            <div className="stack">
              <div className="row">
                <Choice
                  label={TEXTS.tasks.layer}
                  value={name}
                  options={all.map((layer) => [layer.name, layer.title || layer.name])}
                  onChange={(chosen) => goTo(addressOf('inspect', chosen))}
                />
              </div>
              <OneLayer key={name} name={name} />
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

function OneLayer({ name }: { readonly name: string }) {
  const layer = useResource<LayerInfo>(`api/v1/layers/${part(name)}`);
  return <Loaded resource={layer}>{(data) => <Place layer={data} />}</Loaded>;
}

function Place({ layer }: { readonly layer: LayerInfo }) {
  const { query } = useRoute();
  const asked = useMemo(() => tileSetFrom(layer, query), [layer, query]);
  const [z = 0, x = 0, y = 0] = (query.get('tile') ?? '').split('/').map(Number);
  const [typed, setTyped] = useState({ z: String(z), x: String(x), y: String(y) });
  if (!asked) return null;
  const show = (set: TileSet) =>
    goTo(addressOf('inspect', layer.name, { ...wishesOf(set), tile: `${typed.z}/${typed.x}/${typed.y}` }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    show(asked);
  };
  const number = (name: 'z' | 'x' | 'y', label: string) => (
    <Field label={label}>
      <input
        type="number"
        min={0}
        required
        value={typed[name]}
        onChange={({ target }) => setTyped({ ...typed, [name]: target.value })}
      />
    </Field>
  );
  return (
    <>
      <Card>
        <form className="form-grid" onSubmit={submit}>
          <TileSetChoices set={asked} onChange={show} />
          {number('z', WORDS.zoom)}
          {number('x', WORDS.column)}
          {number('y', WORDS.row)}
          <button type="submit" className="primary">
            {WORDS.look}
          </button>
        </form>
      </Card>
      {query.has('tile') && (
        <Card>
          <TileDetails key={query.toString()} set={asked} place={{ z, x, y }} />
          <p>
            <a href={addressOf('layers', layer.name, wishesOf(asked))}>{WORDS.onMap}</a>
          </p>
        </Card>
      )}
    </>
  );
}
