import type { z as Zod } from 'zod';
import type { SchemaKit } from '../../lib/schemas.ts';
import { httpSchemas } from '../http-options.ts';

/** Ready-made tiles in one file: MBTiles, or PMTiles here or on a web server. */
export const archiveSourceOptions = (kit: SchemaKit) => {
  const { z, text, texts } = kit;
  const { httpAddress, httpOptions } = httpSchemas(kit);
  return z
    .strictObject({
      type: z.literal('archive'),
      path: text.optional().describe('A file: .mbtiles or .pmtiles'),
      url: httpAddress
        .optional()
        .describe('Address of a .pmtiles file on a server that answers requests for parts of it'),
      gridSets: texts
        .min(1)
        .optional()
        .describe(
          'Grid sets whose zooms, columns and rows the archive counts in; web mercator when left out',
        ),
      ...httpOptions,
    })
    .superRefine(({ path, url }, context) => {
      const refuse = (message: string, at: string[]) =>
        context.addIssue({ code: 'custom', message, path: at, input: path ?? url });
      if ((path === undefined) === (url === undefined)) refuse('needs either path or url', []);
      if (path !== undefined && !/\.(mbtiles|pmtiles)$/i.test(path)) {
        refuse('must end in .mbtiles or .pmtiles', ['path']);
      }
    });
};

export type ArchiveSourceOptions = Zod.output<ReturnType<typeof archiveSourceOptions>>;
