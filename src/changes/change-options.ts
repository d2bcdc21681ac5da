import { z } from 'zod';
import { geoRssFields } from '../catalog/update-source.ts';
import type { ChangedPlace } from '../domain/place-in-grid-set.ts';
import { projectionOfSrs } from '../domain/projection.ts';
import { text, whole } from '../lib/schemas.ts';
import { parseTableName } from './feeds/table-name.ts';

export const CHANGE_ACTIONS = ['invalidate', 'renew', 'truncate'] as const;

export interface Change {
  /** Some of the feed's; null: all of them. */
  readonly layers: readonly string[] | null;
  /** Null: the whole layer. Without polygons: nothing. */
  readonly place: ChangedPlace | null;
}

export interface ChangeRules {
  readonly action: (typeof CHANGE_ACTIONS)[number];
  /** Pixels around a change, at every zoom. */
  readonly buffer: number;
  readonly zoomStart?: number | undefined;
  readonly zoomStop?: number | undefined;
}

export type FeedState = 'ok' | 'failing';

export interface FeedStatus {
  readonly name: string;
  readonly type: string;
  readonly layers: readonly string[];
  /** `list`: it lists times, and changes no tiles. */
  readonly action: ChangeRules['action'] | 'list';
  readonly state: FeedState;
  /** Time of the latest accepted change, in milliseconds since 1970. */
  readonly lastAt: number | null;
  readonly lastError: string | null;
  readonly received: number;
  readonly applied: number;
  readonly pending: number;
}

const MAX_ZOOM = 30;
const MAX_BUFFER = 4096;

/** E.g. `EPSG:25832`. */
export const srsName = z
  .string()
  .regex(/^EPSG:\d{1,7}$/i, { error: 'must be a code such as EPSG:25832' })
  .refine((name) => projectionOfSrs(srsOf(name)) !== null, { error: 'is a CRS that is not known here' });

export function srsOf(name: string): number {
  return Number(name.slice('EPSG:'.length));
}

export const inputName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
  error: 'must be a name of at most 64 letters, digits, dots, hyphens and underscores',
});

const zoom = whole(0, MAX_ZOOM);
const common = {
  name: inputName.describe('Name of the feed, unique'),
  layers: z.array(text).min(1).describe('Layers that the data belong to'),
  action: z.enum(CHANGE_ACTIONS).default('invalidate').describe('What happens to the tiles concerned'),
  buffer: whole(0, MAX_BUFFER).default(16).describe('Pixels around a change at every zoom'),
  zoomStart: zoom.optional().describe('First zoom that the data are drawn at'),
  zoomStop: zoom.optional().describe('Last zoom that the data are drawn at'),
};

/** Feeds of changes under `changes` in the settings. */
export const changeFeedOptions = z
  .discriminatedUnion('type', [
    z.strictObject({
      ...common,
      type: z.literal('webhook'),
      secret: text.describe('Key of the signature (HMAC-SHA-256)'),
    }),
    z.strictObject({
      ...common,
      type: z.literal('postgres'),
      url: z
        .string()
        .regex(/^postgres(ql)?:\/\//, { error: 'must be a postgres:// URL' })
        .describe('Database with the table of changes'),
      table: z
        .string()
        .refine((name) => parseTableName(name) !== null, {
          error: 'must be a table such as public.tile_changes',
        })
        .describe('Table of changes, with its schema'),
    }),
    z.strictObject({
      ...common,
      type: z.literal('georss'),
      ...geoRssFields(),
      srs: srsName.default('EPSG:4326').describe('CRS of the geometries; x first unless EPSG:4326'),
    }),
    z.strictObject({
      ...common,
      type: z.literal('tile-list'),
      folder: text.describe('Folder with files of z/x/y lines'),
    }),
    z.strictObject({
      ...common,
      type: z.literal('file'),
      path: text.describe('File that the layers are drawn from, e.g. a QGIS project or an archive'),
    }),
  ])
  .refine(({ zoomStart = 0, zoomStop = MAX_ZOOM }) => zoomStart <= zoomStop, {
    error: 'must not be below zoomStart',
    path: ['zoomStop'],
  });

export type ChangeFeedSettings = z.output<typeof changeFeedOptions>;
export type FeedSettingsOf<Type extends ChangeFeedSettings['type']> = Extract<
  ChangeFeedSettings,
  { type: Type }
>;
