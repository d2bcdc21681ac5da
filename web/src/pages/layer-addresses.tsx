import { type ApiResponse, part } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { type TileSet, tileSetQuery } from '../map/tile-set.ts';
import { Copy, FoldedCopy, Loaded } from '../parts/basics.tsx';
import { curl } from '../parts/curl.ts';
import { TEXTS } from '../texts.ts';
import { firstZooms } from './work-plan.ts';

const WORDS = TEXTS.layer;

/** Ready to paste into map clients. */
export function Addresses({ set }: { set: TileSet }) {
  const path = `api/v1/layers/${part(set.layer.name)}/clients/${part(set.gridSet.name)}`;
  const known = useResource<ApiResponse<'GET /api/v1/layers/{layer}/clients/{gridSet}'>>(
    `${path}?${tileSetQuery(set)}`,
  );
  // This browser's address of the server, which may be behind a proxy.
  const base = new URL('.', location.href.split('#')[0]).href.replace(/\/$/, '');
  return (
    <>
      {set.layer.access !== 'public' && <p className="notice">{WORDS.closedLayer}</p>}
      <Loaded resource={known}>
        {(data) =>
          data.clients.map(({ id, client, how, text }, place) => (
            <details key={id} open={place === 0}>
              <summary>{client}</summary>
              <p className="small quiet">{how}</p>
              <Copy label={client} text={text.replaceAll(data.base, base)} />
            </details>
          ))
        }
      </Loaded>
      <FoldedCopy label={WORDS.curlSeed} text={curl('POST', 'api/v1/tasks', seedOf(set))} />
    </>
  );
}

/** Done in a moment. */
function seedOf({ layer, gridSet, format, parameters }: TileSet): object {
  const [zoomStart, zoomStop] = firstZooms(gridSet);
  return {
    layer: layer.name,
    type: 'seed',
    gridSet: gridSet.name,
    format,
    parameters,
    zoomStart,
    zoomStop,
  };
}
