import type { Catalog } from '../../catalog/catalog.ts';
import { invalid, shortened } from '../../domain/errors.ts';
import { textAnswer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Route } from '../route.ts';

/** `POST /rest/filter/{filter}/update/{xml|zip}`: what is computed from the extent is always up to date. */
export function filterUpdateRoutes({
  catalog,
}: {
  readonly catalog: Pick<Catalog, 'layers'>;
}): readonly Route[] {
  const path = '/rest/filter/{filter}/update/{type}';
  return [{ method: 'POST', path, role: 'operator', handler: update }];

  function update(exchange: Exchange) {
    const name = exchange.param('filter');
    if (!isKnown(name)) {
      throw invalid(
        `No filter by the name ${shortened(name)} was found. Raster filters are kept without effect, and need no update.`,
      );
    }
    const type = exchange.param('type');
    if (!/^(xml|zip)$/i.test(type)) throw invalid(`Unknow update type ${shortened(type)}`);
    return textAnswer(200, 'Filter update completed, no problems encountered.\n');
  }

  function isKnown(name: string): boolean {
    for (const { circularFilter } of catalog.layers()) if (circularFilter === name) return true;
    return false;
  }
}
