import { type Command, flag, misuse } from './command.ts';

export const changesSqlCommand: Command = {
  name: 'changes-sql',
  summary: 'print a table of changes and PostGIS triggers that fill it, for a feed of type postgres',
  flags: [
    flag('source', 'TABLE', 'the table whose edits are reported, e.g. public.parcels'),
    flag('geometry', 'COLUMN', 'its geometry column (geom)'),
    flag('table', 'TABLE', 'the table of changes (public.tile_changes)'),
    flag('layer', 'NAME', 'the layer that the data belong to; all layers of the feed when absent'),
  ],
  async run({ source, geometry = 'geom', table = 'public.tile_changes', layer = null }, terminal) {
    if (source === undefined) throw misuse('--source is required: the table whose edits are reported.');
    const { changesSql } = await import('../app/offline.ts');
    terminal.out(changesSql({ source, geometry, table, layer }));
    return 0;
  },
};
