import type { Layer, Legend } from '../../domain/layer.ts';
import { type Html as Markup, html as markup } from '../answer/html.ts';
import { BASE } from './document-template.ts';

/** The legends of a style; those of the default style have no name, or its. */
export function legendsOf({ legends }: Layer, style: string, isDefault: boolean): readonly Legend[] {
  return legends.filter((legend) => legend.style === style || (isDefault && legend.style === ''));
}

/** Where it is, or where we ask the source for it. */
export function legendAddress({ name }: Layer, legend: Legend): Markup {
  if (legend.url !== null) return markup`${legend.url}`;
  const query = new URLSearchParams({
    SERVICE: 'WMS',
    REQUEST: 'GetLegendGraphic',
    VERSION: '1.1.1',
    LAYER: name,
    STYLE: legend.style,
    FORMAT: legend.format,
    ...(legend.width !== null && { WIDTH: String(legend.width) }),
    ...(legend.height !== null && { HEIGHT: String(legend.height) }),
  });
  return markup`${BASE}/service/wms?${query.toString()}`;
}
