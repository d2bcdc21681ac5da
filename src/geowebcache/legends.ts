import { omitUndefined } from '../lib/omit-undefined.ts';
import { type DocumentNode, double, leaf, nodeOf } from './document-node.ts';
import { type Shape, valuesNamed } from './read-warnings.ts';
import {
  attributeOf,
  bodyProblem,
  entriesOf,
  integerField,
  numberField,
  onlyChild,
  textField,
  type WireElement,
} from './wire-element.ts';

/** A legend in the configuration file's form. */
export interface Legend {
  readonly style?: string;
  readonly width?: number;
  readonly height?: number;
  readonly format?: string;
  readonly url?: string;
  readonly minScale?: number;
  readonly maxScale?: number;
}

export const LEGEND_SHAPE: Shape = {
  legend: valuesNamed('width height format url completeUrl minScale maxScale'),
};

/** Attributes of the list are defaults of its legends. */
export function readLegends(root: WireElement, layer: string): readonly Legend[] | undefined {
  const list = onlyChild(root, 'legends');
  const legends = list && entriesOf(root, 'legends', ['legend'])?.filter((one) => one !== list);
  if (!legends || legends.length === 0) return undefined;
  const shared = {
    width: attributeNumber(list, 'defaultWidth'),
    height: attributeNumber(list, 'defaultHeight'),
    format: attributeOf(list, 'defaultFormat') ?? undefined,
  };
  return legends.map((legend) => readLegend(legend, shared, layer));
}

function readLegend(legend: WireElement, shared: Pick<Legend, never>, layer: string): Legend {
  const own = omitUndefined({
    style: attributeOf(legend, 'style') ?? undefined,
    width: integerField(legend, 'width'),
    height: integerField(legend, 'height'),
    format: textField(legend, 'format'),
    url: textField(legend, 'completeUrl'),
    minScale: numberField(legend, 'minScale'),
    maxScale: numberField(legend, 'maxScale'),
  });
  const complete: Legend = { ...omitUndefined(shared), ...own };
  const service = textField(legend, 'url');
  if (complete.url !== undefined || service === undefined) return complete;
  return { ...complete, url: legendAddress(service, layer, complete) };
}

/** `url` names another WMS that draws the legend. */
function legendAddress(service: string, layer: string, legend: Legend): string {
  const query = new URLSearchParams({
    service: 'WMS',
    request: 'GetLegendGraphic',
    format: legend.format ?? 'image/png',
    ...(legend.width !== undefined && { width: String(legend.width) }),
    ...(legend.height !== undefined && { height: String(legend.height) }),
    layer,
    style: legend.style ?? '',
  });
  const glue = service.includes('?') ? (/[?&]$/.test(service) ? '' : '&') : '?';
  return `${service}${glue}${query}`;
}

function attributeNumber(element: WireElement, name: string): number | undefined {
  const text = attributeOf(element, name);
  if (text === null) return undefined;
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw bodyProblem(`${name} of legends must be a whole number, not "${text}"`, element.place);
}

export function writeLegends(legends: unknown): DocumentNode | null {
  if (!Array.isArray(legends) || legends.length === 0) return null;
  return nodeOf('legends', legends.map(writeLegend));
}

function writeLegend(legend: Legend): DocumentNode {
  const fields = [
    leaf('width', legend.width),
    leaf('height', legend.height),
    leaf('format', legend.format),
    leaf('completeUrl', legend.url),
    double('minScale', legend.minScale),
    double('maxScale', legend.maxScale),
  ];
  return { ...nodeOf('legend', fields), attributes: { style: legend.style ?? '' } };
}
