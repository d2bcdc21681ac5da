import type { AreaMask } from '../../domain/area-mask.ts';
import { type Bounds, expandBounds, type MapPicture } from '../../domain/bounds.ts';
import type { GridSet } from '../../domain/grid-set.ts';
import type { NamedArea } from '../../domain/named-area.ts';
import { maskWithin } from '../../domain/placed-area.ts';
import type { Context } from '../context.ts';
import { HttpProblem } from '../problems.ts';
import type { Response } from '../response.ts';

export type AreaLimit = ReturnType<typeof createAreaLimit>;

/** Pixels around a queried one in which map servers search for features. */
const INFO_REACH = 8;

/** Names of the areas that limit a reader key or an account; null: no limit. */
export function areasOf({ key, areas }: Context): readonly string[] | null {
  return key ? (key.held?.areas ?? null) : areas;
}

/** Computes what callers limited to areas may see. An area that is no longer declared shows nothing. */
export function createAreaLimit(areas: ReadonlyMap<string, NamedArea>) {
  async function visible(names: readonly string[], gridSet: GridSet, picture: MapPicture): Promise<AreaMask> {
    return maskWithin(
      names.flatMap((name) => areas.get(name) ?? []),
      gridSet,
      picture,
    );
  }

  return {
    /**
     * The part that the caller may see of a picture in the CRS of a grid set; null: all. Throws `forbidden` for none.
     * `gridSet` is called only for a caller limited to areas, and may throw.
     */
    async maskFor(context: Context, gridSet: () => GridSet, picture: MapPicture): Promise<Uint8Array | null> {
      const names = areasOf(context);
      if (names === null) return null;
      const mask = await visible(names, gridSet(), picture);
      if (mask === 'nothing') throw areaRefused();
      return mask === 'everything' ? null : mask;
    },
    /** Throws `forbidden` unless the caller may see a pixel of the picture and those around it. */
    async requirePixel(context: Context, gridSet: () => GridSet, picture: MapPicture, i: number, j: number) {
      const names = areasOf(context);
      if (names === null) return;
      const around = { bounds: boundsAroundPixel(picture, i, j), width: 1, height: 1 };
      if ((await visible(names, gridSet(), around)) !== 'everything') throw areaRefused();
    },
  };
}

function boundsAroundPixel({ bounds, width, height }: MapPicture, i: number, j: number): Bounds {
  const [spanX, spanY] = [(bounds.maxX - bounds.minX) / width, (bounds.maxY - bounds.minY) / height];
  const [minX, maxY] = [bounds.minX + i * spanX, bounds.maxY - j * spanY];
  const pixel = { minX, minY: maxY - spanY, maxX: minX + spanX, maxY };
  return expandBounds(pixel, INFO_REACH * spanX, INFO_REACH * spanY);
}

function areaRefused(): HttpProblem {
  return new HttpProblem('forbidden', 'This place is outside the areas that the caller may see.');
}

/** Vector tiles are not cut: one that reaches beyond the areas is refused. */
export function edgeRefused(): HttpProblem {
  return new HttpProblem(
    'forbidden',
    'This vector tile reaches beyond the areas that the caller may see; request smaller ones, of a higher zoom.',
  );
}

/**
 * Makes a response private to its caller, and removes its date: the visible part of a tile can change while the tile does
 * not, so only the ETag of the sent bytes validates it.
 */
export function limited({ status, headers, body }: Response): Response {
  const others: string[] = [];
  let control = 'private';
  for (let i = 0; i < headers.length; i += 2) {
    const [name = '', value = ''] = headers.slice(i, i + 2);
    if (name === 'Cache-Control') control = value.startsWith('private') ? value : `private, ${value}`;
    else if (name !== 'Last-Modified' && !(name === 'Vary' && value === 'X-Api-Key'))
      others.push(name, value);
  }
  return { status, headers: [...others, 'Cache-Control', control, 'Vary', 'X-Api-Key'], body };
}
