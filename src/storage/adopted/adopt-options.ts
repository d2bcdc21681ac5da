import { z } from 'zod';
import { text } from '../../lib/schemas.ts';

const folder = text.describe('The folder; relative to the configuration file');
const name = text.optional().describe("The layer's name there; the layer's own when absent");
const gridSet = text.optional().describe("The grid set of its tiles; the layer's first when absent");
const gridSets = z
  .record(text, text)
  .default({})
  .describe('Grid sets that have another name there, by their name here');

const origin = z
  .enum(['sw', 'nw'])
  .default('sw')
  .describe('Origin of its grid: rows count from the bottom (sw) or from the top (nw)');

/** The cache of another program, whose tiles are served and copied but never changed. */
export const adoptOptions = z.discriminatedUnion('layout', [
  z.strictObject({
    layout: z.literal('geowebcache'),
    folder,
    name,
    gridSets,
    paths: z
      .enum(['default', 'tms', 'slippy'])
      .default('default')
      .describe('pathGeneratorType of its file blob store'),
  }),
  z.strictObject({
    layout: z.literal('mapcache'),
    folder,
    name,
    gridSets,
    gridSet: text.optional().describe("The only grid set to look for; all of the layer's when absent"),
    origin,
  }),
  z.strictObject({
    layout: z.literal('mapproxy'),
    folder,
    gridSet,
    paths: z.enum(['tc', 'mp', 'tms']).default('tc').describe('directory_layout of its file cache'),
    origin,
  }),
  z.strictObject({ layout: z.literal('tms'), folder, gridSet }),
  z.strictObject({ layout: z.literal('xyz'), folder, gridSet }),
  z.strictObject({
    layout: z.literal('mbtiles'),
    file: text.describe('The .mbtiles file; relative to the configuration file'),
    gridSet,
    origin,
  }),
]);

type AdoptOptions = z.output<typeof adoptOptions>;
export type GridOrigin = z.output<typeof origin>;
export type FolderAdoptOptions = Extract<AdoptOptions, { readonly folder: string }>;

/** What a layer adopts, its paths absolute. */
export type Adoption = AdoptOptions & {
  /** It must lie in one of these folders, links followed; null: wherever it likes. */
  readonly within: readonly string[] | null;
};

export function placeOfAdoption(options: AdoptOptions): string {
  return options.layout === 'mbtiles' ? options.file : options.folder;
}
