import type { z as Zod } from 'zod';
import type { SchemaKit } from '../../lib/schemas.ts';
import { httpSchemas } from '../http-options.ts';

export const wmtsSourceOptions = (kit: SchemaKit) => {
  const { z, text } = kit;
  const { httpAddress, httpOptions } = httpSchemas(kit);
  return z.strictObject({
    type: z.literal('wmts'),
    url: httpAddress.describe('Address of the service or of its capabilities document'),
    layer: text.describe('Identifier of the layer'),
    style: z.string().optional().describe("Identifier of the style; the layer's default when left out"),
    format: text
      .optional()
      .describe("Format to ask for; the tiles' own if the server has it, else PNG or the first it has"),
    tileMatrixSet: text
      .optional()
      .describe('Use only this tile matrix set; by default the one that fits the requested grid set'),
    encoding: z
      .enum(['auto', 'kvp', 'rest'])
      .default('auto')
      .describe('How tiles are requested: by query or by path; auto: as the address is given'),
    dimensions: z
      .record(text, z.union([z.string(), z.number()]).transform(String))
      .default({})
      .describe(
        "Values of dimensions; a parameter of the same name goes before, the server's default behind",
      ),
    absent: z
      .array(z.literal([204, 400, 403, 404, 410]))
      .default([204])
      .describe('HTTP statuses that mean there is no tile here: an empty tile is kept'),
    ...httpOptions,
  });
};

export type WmtsSourceOptions = Zod.output<ReturnType<typeof wmtsSourceOptions>>;
