import type { TileSet } from '../map/tile-set.ts';
import { Copy } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { TEXTS } from '../texts.ts';
import { snippetsFor } from './client-snippets.ts';

const WORDS = TEXTS.layer;

/** Ready to paste into what people use. */
export function Addresses({ set }: { set: TileSet }) {
  const base = new URL('.', location.href.split('#')[0]).href;
  return (
    <>
      {set.layer.access !== 'public' && <p className="notice">{WORDS.closedLayer}</p>}
      {snippetsFor(set, base).map(({ id, text }, place) => {
        const { name, how } = WORDS.clients[id];
        return (
          <details key={id} open={place === 0}>
            <summary>{name}</summary>
            <p className="small quiet">{how}</p>
            <Copy label={name} text={text} />
          </details>
        );
      })}
      <details>
        <summary>{WORDS.curlSeed}</summary>
        <Copy label={WORDS.curlSeed} text={curl('POST', 'api/v1/tasks', seedOf(set))} />
      </details>
    </>
  );
}

/** The first few zooms: done in a moment. */
function seedOf({ layer, gridSet, format, parameters }: TileSet): object {
  const { zoomStart, zoomStop } = gridSet;
  return {
    layer: layer.name,
    type: 'seed',
    gridSet: gridSet.name,
    format,
    parameters,
    zoomStart,
    zoomStop: Math.min(zoomStop, zoomStart + 3),
  };
}
