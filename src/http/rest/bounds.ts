import type { Catalog } from '../../catalog/catalog.ts';
import { shortened } from '../../domain/errors.ts';
import { levelOf } from '../../domain/grid-set.ts';
import { coverageAt, type GridSubset } from '../../domain/grid-subset.ts';
import { findGridSubset } from '../../domain/layer.ts';
import { textAnswer } from '../answer.ts';
import { refuseOthers } from '../door/layer-visibility.ts';
import type { Exchange } from '../exchange.ts';
import { statusOf } from '../problems.ts';
import type { Route } from '../route.ts';

/** `/rest/bounds/{layer}/{gridSet}/java`: which tiles a layer has at each zoom, as a Java program would write it down. */
export function boundsRoutes({ catalog }: { readonly catalog: Pick<Catalog, 'layer'> }): readonly Route[] {
  const path = '/rest/bounds/{layer}/{gridSet}/{type}';
  return [{ method: 'GET', path, role: 'viewer', handler: show }];

  async function show(exchange: Exchange) {
    const [layer, gridSet, type] = ['layer', 'gridSet', 'type'].map((name) => exchange.param(name));
    const bound = catalog.layer(layer ?? '') ?? catalog.layer(layer?.replaceAll('+', ' ') ?? '');
    if (!bound) return refusal('layer-unknown', `Unknown layer: ${shortened(layer ?? '')}`);
    await refuseOthers(exchange, bound.layer);
    const subset = findGridSubset(bound.layer, gridSet ?? '');
    if (!subset) {
      return refusal(
        'layer-unknown',
        `${shortened(layer ?? '')} does not support ${shortened(gridSet ?? '')}`,
      );
    }
    if (type?.toLowerCase() === 'java') return textAnswer(200, coverages(subset));
    return refusal('request-invalid', `Unknown or missing format extension : ${shortened(type ?? '')}`);
  }
}

const NAMES = { 'layer-unknown': 'NOT_FOUND', 'request-invalid': 'BAD_REQUEST' } as const;

/** Scripts know these by GeoWebCache's own words. */
export function refusal(code: keyof typeof NAMES, message: string) {
  const status = statusOf(code);
  const text = `org.geowebcache.rest.exception.RestException ${status} ${NAMES[code]}: ${message}`;
  return textAnswer(status, text, ['Cache-Control', 'no-store']);
}

/** `{{minX, minY, maxX, maxY, z}, …}`, rows from the bottom. */
function coverages(subset: GridSubset): string {
  const levels: string[] = [];
  for (let z = subset.zoomStart; z <= subset.zoomStop; z++) {
    const rect = coverageAt(subset, z);
    if (!rect) continue;
    const last = levelOf(subset.gridSet, z).rows - 1;
    levels.push(`{${[rect.minX, last - rect.maxY, rect.maxX, last - rect.minY, z].join(', ')}}`);
  }
  return `{${levels.join(', ')}}`;
}
