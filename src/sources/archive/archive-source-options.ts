import { z } from 'zod';
import { text, texts } from '../../lib/schemas.ts';
import { httpAddress, httpOptions } from '../http-options.ts';

/** Tiles that lie ready-made in one file: MBTiles, or PMTiles here or on a web server. */
export const archiveSourceOptions = z
  .strictObject({
    type: z.literal('archive'),
    path: text.optional().describe('A file: .mbtiles or .pmtiles'),
    url: httpAddress
      .optional()
      .describe('Address of a .pmtiles file on a server that answers requests for parts of it'),
    gridSets: texts
      .min(1)
      .optional()
      .describe('Grid sets whose zooms, columns and rows the archive counts in; web mercator when left out'),
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

export type ArchiveSourceOptions = z.output<typeof archiveSourceOptions>;
