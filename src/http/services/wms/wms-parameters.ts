import { shortened } from '../../../domain/errors.ts';
import type { Layer } from '../../../domain/layer.ts';
import type { ParameterFilter } from '../../../domain/parameter-filter.ts';
import type { Exchange } from '../../exchange.ts';
import { type Kvp, pairsOf, readKvp } from '../kvp.ts';
import { DEFAULT, isStyleFilter } from '../wmts/layer-styles.ts';
import { blamingWms, type WmsCode, WmsException } from './wms-exception.ts';

const WHOLE_NUMBER = /^[1-9]\d{0,8}$|^0$/;
const COLOUR = /^(?:0x|#)?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i;

export function readWmsQuery(exchange: Exchange): Kvp {
  return readKvp(
    pairsOf(exchange),
    (name) => new WmsException('InvalidParameterValue', name, `The parameter ${name} is given twice.`),
  );
}

export function required(asked: Kvp, name: string): string {
  const value = asked(name);
  if (value !== null) return value;
  throw new WmsException('MissingParameterValue', name, `The parameter ${name} is missing.`);
}

export function wholeNumber(asked: Kvp, name: string, code: WmsCode = 'InvalidParameterValue'): number {
  const text = required(asked, name);
  if (WHOLE_NUMBER.test(text)) return Number(text);
  throw new WmsException(code, name, `${name} must be a whole number such as 256, not ${shortened(text)}.`);
}

export function isTrue(asked: Kvp, name: string): boolean {
  const text = asked(name)?.toLowerCase() ?? 'false';
  if (text === 'true' || text === 'false') return text === 'true';
  throw new WmsException(
    'InvalidParameterValue',
    name,
    `${name} must be TRUE or FALSE, not ${shortened(text)}.`,
  );
}

/** WMS 1.3.0, 7.3.3.10: white unless said otherwise. */
export function backgroundColour(asked: Kvp): readonly [number, number, number] {
  const text = asked('BGCOLOR') ?? '0xFFFFFF';
  const [, red, green, blue] = COLOUR.exec(text) ?? [];
  if (red && green && blue) {
    return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
  }
  throw new WmsException(
    'InvalidParameterValue',
    'BGCOLOR',
    `BGCOLOR must be a colour such as 0xFFFFFF, not ${shortened(text)}.`,
  );
}

/** Those that are not their defaults. `style` is what of STYLES belongs to this layer. */
export function parametersAsked(layer: Layer, asked: Kvp, style: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const filter of layer.parameters) {
    const value = isStyleFilter(filter) ? style : (asked(filter.name) ?? '');
    if (isStyleFilter(filter) && value === DEFAULT && !filter.values?.includes(DEFAULT)) continue;
    const applied = blamingWms(codeOf(filter), filter.name, () => filter.apply(value));
    if (applied !== filter.defaultValue) found.set(filter.name, value);
  }
  if (!layer.parameters.some(isStyleFilter)) refuseStyle(layer, style);
  return found;
}

/** A layer that has no styles has the default one, whose name is empty. */
function refuseStyle(layer: Layer, style: string): void {
  if (style === '' || style === DEFAULT) return;
  throw new WmsException(
    'StyleNotDefined',
    'STYLES',
    `Layer ${layer.name} has no style ${shortened(style)}.`,
  );
}

function codeOf(filter: ParameterFilter): WmsCode {
  if (isStyleFilter(filter)) return 'StyleNotDefined';
  return isDimension(filter) ? 'InvalidDimensionValue' : 'InvalidParameterValue';
}

/** WMS 1.3.0, annex C. */
export function isDimension({ name }: ParameterFilter): boolean {
  return name === 'TIME' || name === 'ELEVATION' || name.startsWith('DIM_');
}
