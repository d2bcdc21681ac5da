import { z } from 'zod';
import { extentSchema } from '../catalog/layer-declaration.ts';
import { MAX_LEVELS } from '../domain/grid-set.ts';

const MAX_TILE_SIZE = 4096;

const pixelsSchema = z.int().min(1).max(MAX_TILE_SIZE);
const ladderSchema = z.array(z.number().positive()).min(1).max(MAX_LEVELS);

export const gridSetSchema = z
  .strictObject({
    name: z.string().min(1).max(200),
    description: z.string().default(''),
    srs: z.int().positive().describe('EPSG code, e.g. 2154'),
    projection: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('PROJ definition of the CRS, e.g. +proj=utm +zone=32 +ellps=GRS80; common codes need none'),
    extent: extentSchema,
    resolutions: ladderSchema.optional().describe('CRS units per pixel, falling'),
    scaleDenominators: ladderSchema.optional().describe('Scale denominators, falling'),
    levels: z
      .int()
      .min(1)
      .max(MAX_LEVELS)
      .optional()
      .describe('A number of levels, each halving the resolution'),
    levelNames: z.array(z.string().min(1)).optional().describe('Identifiers of the levels towards clients'),
    tileSize: z
      .union([pixelsSchema, z.tuple([pixelsSchema, pixelsSchema])])
      .default(256)
      .describe('Pixels: one number, or [width, height]'),
    metersPerUnit: z
      .number()
      .positive()
      .optional()
      .describe('1, or what a degree measures at the equator for EPSG:4326, when absent'),
    pixelSize: z.number().positive().default(0.00028).describe('Metres a pixel measures on a screen'),
    alignTopLeft: z
      .boolean()
      .default(false)
      .describe('Rows start at the top of the extent instead of its bottom'),
    yCoordinateFirst: z
      .boolean()
      .optional()
      .describe('The CRS names its axes y first (WMS 1.3.0, WMTS); what the EPSG says of it when absent'),
  })
  .refine((given) => ladderKeys(given).length === 1, {
    error: 'needs exactly one of resolutions, scaleDenominators and levels',
  });

function ladderKeys(given: object): readonly string[] {
  return Object.keys(given).filter((key) => ['resolutions', 'scaleDenominators', 'levels'].includes(key));
}
