import { z } from 'zod';
import { flag, text, texts, whole } from '../../lib/schemas.ts';
import { httpAddress, httpOptions } from '../http-options.ts';

const list = z
  .union([z.string(), texts])
  .transform((value) => (typeof value === 'string' ? value : value.join(',')));
const layerList = list.refine((names) => names.trim() !== '', 'must name a layer');
const parameterName = z.string().regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be a plain parameter name');

export const wmsSourceOptions = z
  .strictObject({
    type: z.literal('wms'),
    url: z
      .union([httpAddress, z.array(httpAddress).min(1)])
      .transform((value) => (typeof value === 'string' ? [value] : value))
      .describe('Address of the service, query included; with several, the next is asked when one fails'),
    layers: list.describe(
      'Layers to draw, first at the bottom; empty with SLD or SLD_BODY in vendorParameters',
    ),
    styles: list
      .default('')
      .describe('Styles in the order of layers; a STYLES parameter filter goes before it'),
    queryLayers: layerList.optional().describe('Layers that GetFeatureInfo asks; all of layers when absent'),
    version: z.enum(['1.1.1', '1.3.0']).default('1.1.1'),
    transparent: flag.describe('Ask for a transparent background where the format has one'),
    bgColor: z
      .string()
      .regex(/^(0x|#)[0-9A-Fa-f]{6}$/, 'must be a colour like #FFFFFF')
      .transform((colour) => colour.replace('#', '0x'))
      .optional()
      .describe('Background, e.g. #FFFFFF'),
    requestFormat: text
      .optional()
      .describe('Format to ask for whatever the tiles are stored as; must keep what they need'),
    srs: z
      .record(z.string().regex(/^[0-9]+$/, 'must be an EPSG number'), text)
      .default({})
      .describe('Names by which the server knows an SRS number, e.g. 900913: EPSG:900913'),
    vendorParameters: z
      .record(parameterName, z.union([z.string(), z.number(), z.boolean()]).transform(String))
      .default({})
      .describe('Sent with every request'),
    concurrency: whole(1, 1024)
      .optional()
      .describe(
        'Concurrent requests for this layer, in each process; see upstreams for all layers of a host',
      ),
    maxUrlLength: whole(200, 1_000_000).default(4000).describe('A longer request is sent by POST, as a form'),
    ...httpOptions,
  })
  .superRefine(({ layers, vendorParameters }, context) => {
    const hasSld = Object.keys(vendorParameters).some((name) => /^sld(?:_body)?$/i.test(name));
    if (layers.trim() === '' && !hasSld)
      context.addIssue({ code: 'custom', message: 'must name a layer', path: ['layers'], input: layers });
  });

export type WmsSourceOptions = z.output<typeof wmsSourceOptions>;
