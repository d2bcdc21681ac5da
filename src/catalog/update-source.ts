import { z } from 'zod';
import { UPDATE_ACTIONS, WGS_84 } from '../domain/layer.ts';
import { text, whole } from '../lib/schemas.ts';

const DAY = 86_400;
const MAX_SOURCES = 20;

export const geoRssFields = () => ({
  url: z
    .string()
    .regex(/^https?:\/\//i, { error: 'must be an http:// or https:// URL' })
    .describe('Address; {since} is replaced by the time of the newest entry applied'),
  intervalSeconds: whole(1, DAY).default(60).describe('Seconds between requests'),
});

/** Feeds of one layer, as GeoWebCache has them. */
export const updateSources = z
  .array(
    z.strictObject({
      ...geoRssFields(),
      gridSet: text.default(WGS_84).describe('Grid set of the layer whose CRS the geometries have'),
      action: z.enum(UPDATE_ACTIONS).default('truncate').describe('What happens to the tiles concerned'),
    }),
  )
  .max(MAX_SOURCES)
  .default([])
  .describe("GeoRSS feeds that report where the layer's data have changed");
