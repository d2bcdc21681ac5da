import type { ApiAnswer } from '../app/server-answers.ts';
import { CLIENT_FLAGS, type Command, flag, printed } from './command.ts';
import { columns, countOf, sizeOf } from './plain-words.ts';
import { readAnswer, type ServerClient, ServerRefusal, serverClientFor } from './server-client.ts';

type ListedLayer = ApiAnswer<'GET /api/v1/layers'>['layers'][number];
type Layer = ApiAnswer<'GET /api/v1/layers/{layer}'>;
type Usage = ApiAnswer<'GET /api/v1/usage'>;

const PATH = '/api/v1/layers';

export const layers: Command = {
  name: 'layers',
  summary: 'list the layers of the server',
  flags: [flag('json', null, 'print JSON, for scripts'), ...CLIENT_FLAGS],
  async run(flags, terminal) {
    const rows = await layerRows(serverClientFor(flags));
    return printed(terminal, flags, { layers: rows }, () => layerTable(rows));
  },
};

export interface LayerRow
  extends Pick<ListedLayer, 'name' | 'title' | 'enabled' | 'gridSets' | 'formats'>,
    Pick<Usage, 'tiles' | 'bytes'> {
  /** Its type, e.g. `wms`; null when the layer was removed in the meantime. */
  readonly source: string | null;
}

async function layerRows(client: ServerClient): Promise<readonly LayerRow[]> {
  const { layers: listed } = readAnswer<ApiAnswer<'GET /api/v1/layers'>>(await client.get(PATH), 'layers');
  const usage = readAnswer<Usage>(await client.get('/api/v1/usage'), 'layers');
  const stored = new Map(usage.layers.map((layer) => [layer.name, layer]));
  const sources = await sourceTypes(client, listed);
  return listed.map(({ name, title, enabled, gridSets, formats }, at) => {
    const { tiles = 0, bytes = 0 } = stored.get(name) ?? {};
    return { name, title, enabled, source: sources[at] ?? null, gridSets, formats, tiles, bytes };
  });
}

const AT_A_TIME = 8;

/** The list does not contain them. */
async function sourceTypes(
  client: ServerClient,
  listed: readonly ListedLayer[],
): Promise<readonly (string | null)[]> {
  const types: (string | null)[] = [];
  for (let from = 0; from < listed.length; from += AT_A_TIME) {
    const some = listed.slice(from, from + AT_A_TIME);
    types.push(...(await Promise.all(some.map(({ name }) => sourceType(client, name)))));
  }
  return types;
}

const NOT_FOUND = 404;

async function sourceType(client: ServerClient, name: string): Promise<string | null> {
  try {
    const answer = await client.get(`${PATH}/${encodeURIComponent(name)}`);
    return readAnswer<Layer>(answer, 'source').source.type ?? null;
  } catch (error) {
    if (error instanceof ServerRefusal && error.status === NOT_FOUND) return null;
    throw error;
  }
}

const HEADINGS = ['NAME', 'TITLE', 'SOURCE', 'GRID SETS', 'TILES', 'SIZE', 'STATE'];

export function layerTable(rows: readonly LayerRow[]): string {
  const cells = rows.map(({ name, title, source, gridSets, tiles, bytes, enabled }) => [
    name,
    title,
    source ?? '',
    gridSets.join(','),
    countOf(tiles),
    sizeOf(bytes),
    enabled ? 'enabled' : 'disabled',
  ]);
  return columns([HEADINGS, ...cells], ['TILES', 'SIZE']);
}
