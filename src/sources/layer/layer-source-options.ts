import type { z as Zod } from 'zod';
import type { SchemaKit } from '../../lib/schemas.ts';

/** Another layer of this server, drawn in grid sets that its own source does not have. */
export const layerSourceOptions = (kit: SchemaKit) => {
  const { z, text } = kit;
  return z.strictObject({
    type: z.literal('layer'),
    layer: text.describe('Name of the other layer'),
    gridSet: text
      .optional()
      .describe('Its grid set to draw from; one in the same CRS, else its first, when left out'),
    resampling: z
      .enum(['bilinear', 'nearest'])
      .default('bilinear')
      .describe('Interpolation: between the four nearest pixels, or the nearest one'),
  });
};

export type LayerSourceOptions = Zod.output<ReturnType<typeof layerSourceOptions>>;
