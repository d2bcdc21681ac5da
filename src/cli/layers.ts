import type { ApiResponse } from '../app.ts';
import { CLIENT_FLAGS, type Command, flag, printed } from './command.ts';
import { columns, countText, sizeText } from './format.ts';
import { readResponse, type ServerClient, serverClientFor } from './server-client.ts';

type Layers = ApiResponse<'GET /api/v1/layers'>;
type ListedLayer = Layers['layers'][number];
type Usage = ApiResponse<'GET /api/v1/usage'>;

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
  /** Its type, e.g. `wms`; null: not known. */
  readonly source: string | null;
}

async function layerRows(client: ServerClient): Promise<readonly LayerRow[]> {
  const { layers: listed } = readResponse<Layers>(await client.get(PATH), 'layers');
  const usage = readResponse<Usage>(await client.get('/api/v1/usage'), 'layers');
  const stored = new Map(usage.layers.map((layer) => [layer.name, layer]));
  return listed.map(({ name, title, enabled, sourceType: source, gridSets, formats }) => {
    const { tiles = 0, bytes = 0 } = stored.get(name) ?? {};
    return { name, title, enabled, source, gridSets, formats, tiles, bytes };
  });
}

const HEADINGS = ['NAME', 'TITLE', 'SOURCE', 'GRID SETS', 'TILES', 'SIZE', 'STATE'];

export function layerTable(rows: readonly LayerRow[]): string {
  const cells = rows.map(({ name, title, source, gridSets, tiles, bytes, enabled }) => [
    name,
    title,
    source ?? '',
    gridSets.join(','),
    countText(tiles),
    sizeText(bytes),
    enabled ? 'enabled' : 'disabled',
  ]);
  return columns([HEADINGS, ...cells], ['TILES', 'SIZE']);
}
