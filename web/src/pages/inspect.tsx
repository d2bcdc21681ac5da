import { useMemo, useState } from 'react';
import { type LayerInfo, type TileSet, tileSetFrom, wishesOf } from '../map/tile-set.ts';
import { Button, Card, Form, Input, PageHead, tied } from '../parts/basics.tsx';
import { ChosenLayer } from '../parts/layer-field.tsx';
import { TileSetChoices } from '../parts/tile-set-choices.tsx';
import { addressOf, goTo, useRoute } from '../route.ts';
import { TEXTS } from '../texts.ts';
import { TileDetails } from './tile-details.tsx';

const WORDS = TEXTS.inspect;

/** `#/inspect/LAYER?gridSet=…&format=…&tile=z/x/y` */
export default function Inspect() {
  const { item } = useRoute();
  return (
    <>
      <PageHead title={TEXTS.nav.inspect} under={WORDS.help} />
      <ChosenLayer wanted={item} onChange={(name) => goTo(addressOf('inspect', name))}>
        {(layer, fault) => fault === null && <Place layer={layer} />}
      </ChosenLayer>
    </>
  );
}

function Place({ layer }: { layer: LayerInfo }) {
  const { query } = useRoute();
  const current = useMemo(() => tileSetFrom(layer, query), [layer, query]);
  const [z = 0, x = 0, y = 0] = (query.get('tile') ?? '').split('/').map(Number);
  const [typed, setTyped] = useState({ z: String(z), x: String(x), y: String(y) });
  if (!current) return null;
  const show = (set: TileSet) =>
    goTo(addressOf('inspect', layer.name, { ...wishesOf(set), tile: `${typed.z}/${typed.x}/${typed.y}` }));
  const fields = tied(typed, (changes) => setTyped({ ...typed, ...changes }));
  const number = (name: 'z' | 'x' | 'y', label: string) => (
    <Input label={label} type="number" min={0} required {...fields.text(name)} />
  );
  return (
    <>
      <Card>
        <Form className="form-grid" role="search" onSubmit={() => show(current)}>
          <TileSetChoices set={current} onChange={show} />
          {number('z', WORDS.zoom)}
          {number('x', WORDS.column)}
          {number('y', WORDS.row)}
          <Button type="submit" kind="primary">
            {WORDS.inspect}
          </Button>
        </Form>
      </Card>
      {query.has('tile') && (
        <Card>
          <div className="stack">
            <TileDetails key={query.toString()} set={current} place={{ z, x, y }} />
            <a href={addressOf('layers', layer.name, wishesOf(current))}>{WORDS.onMap}</a>
          </div>
        </Card>
      )}
    </>
  );
}
