import type { z } from 'zod';
import type { layerSchema } from './layer-schema.ts';

const LAST_ZOOM = 12;

/** What is served when nobody has declared a layer: a map that needs nothing but the package. */
export const WORLD_LAYER: z.input<typeof layerSchema> = {
  name: 'world',
  title: 'The world',
  description: 'Land, seas and borders, drawn from Natural Earth data',
  attribution: 'Made with Natural Earth',
  source: { type: 'world' },
  formats: ['image/png', 'image/jpeg', 'image/webp'],
  gridSets: [
    { name: 'EPSG:900913', zoomStart: 0, zoomStop: LAST_ZOOM },
    { name: 'EPSG:4326', zoomStart: 0, zoomStop: LAST_ZOOM },
  ],
  parameters: [{ name: 'STYLES', default: 'light', values: ['light', 'dark', 'outline'] }],
  expireClients: 3600,
  fullWMS: true,
  retina: true,
};
