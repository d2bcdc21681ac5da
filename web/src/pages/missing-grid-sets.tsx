import { useState } from 'react';
import type { ApiResponse } from '../api/client.ts';
import { fill } from '../format.ts';
import { Button, Card } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { GridSetForm } from './grid-set-form.tsx';

type Capabilities = ApiResponse<'POST /api/v1/import'>;
type Missing = Capabilities['missing'][number];

const WORDS = TEXTS.gridSets;
/** Others are hidden at first. */
const MAX_SHOWN = 4;
const MAX_LAYERS = 200;

/** The CRS of a service that have no grid set: each is a button that declares one. */
export function MissingGridSets(props: { capabilities: Capabilities; onDeclared: () => unknown }) {
  const { missing, withoutGridSet } = props.capabilities;
  const [chosen, setChosen] = useState<Missing | null>(null);
  if (missing.length === 0) return null;
  const needed = missing.filter(({ srs }) => withoutGridSet.some(({ crs }) => crs.includes(`EPSG:${srs}`)));
  const sorted = [...needed, ...missing.filter((one) => !needed.includes(one))];
  const buttons = (some: readonly Missing[]) => (
    <div className="row">
      {some.map((one) => (
        <Button
          key={one.srs}
          kind={withoutGridSet.length > 0 && one === sorted[0] ? 'primary' : ''}
          aria-pressed={one === chosen}
          onClick={() => setChosen(one === chosen ? null : one)}
        >
          {buttonText(one)}
        </Button>
      ))}
    </div>
  );
  return (
    <section className="stack" aria-label={WORDS.missing}>
      <h3>{WORDS.missing}</h3>
      <Waiting layers={withoutGridSet} />
      <p className="small quiet">{WORDS.missingHelp}</p>
      {buttons(sorted.slice(0, MAX_SHOWN))}
      {sorted.length > MAX_SHOWN && (
        <details>
          <summary>{fill(WORDS.missingMore, { count: sorted.length - MAX_SHOWN })}</summary>
          {buttons(sorted.slice(MAX_SHOWN))}
        </details>
      )}
      {chosen && (
        <Card title={WORDS.addTitle}>
          <GridSetForm
            key={chosen.srs}
            wanted={{ srs: String(chosen.srs), degrees: chosen.degrees }}
            onSaved={props.onDeclared}
          />
        </Card>
      )}
    </section>
  );
}

function buttonText({ srs, layers }: Missing): string {
  return `EPSG:${srs} · ${fill(WORDS.ofLayers, { count: layers })}…`;
}

function Waiting({ layers }: { layers: Capabilities['withoutGridSet'] }) {
  if (layers.length === 0) return null;
  return (
    <details open={layers.length <= MAX_SHOWN}>
      <summary>{fill(WORDS.needed, { count: layers.length })}</summary>
      <ul className="lines small">
        {layers.slice(0, MAX_LAYERS).map(({ name, title, crs }) => (
          <li key={name}>
            <strong>{title || name}</strong>{' '}
            <span className="quiet">
              {name} · {crs.slice(0, MAX_SHOWN).join(', ')}
              {crs.length > MAX_SHOWN && '…'}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
