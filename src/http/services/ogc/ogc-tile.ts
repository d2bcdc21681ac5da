import type { BoundLayer } from '../../../catalog/catalog.ts';
import { shortened, TilewardenError } from '../../../domain/errors.ts';
import { type Format, formatOf } from '../../../domain/format.ts';
import { coverageAt, type GridSubset } from '../../../domain/grid-subset.ts';
import { gridSubsetOf } from '../../../domain/layer.ts';
import type { TileIndex } from '../../../domain/tile-key.ts';
import { resolveTileSet } from '../../../pipeline/resolve-tile-set.ts';
import type { Context } from '../../context.ts';
import type { TileResponder } from '../../hits/tile-response.ts';
import { HttpProblem } from '../../problems.ts';
import { type Response, withHeaders } from '../../response.ts';
import { formatAccepted } from '../negotiate.ts';
import { formatNamed, indexOf } from '../tiles.ts';
import { formatParameter } from './ogc-document.ts';
import { formatsOf, type TileKind } from './tilesets.ts';

interface TileAsked {
  readonly bound: BoundLayer;
  readonly kind: TileKind;
  readonly parameters: ReadonlyMap<string, string>;
}

/** `…/tiles/{gridSet}/{matrix}/{row}/{column}`: in the format of `f`, else of `Accept`. */
export async function answerOgcTile(
  answerTile: TileResponder,
  context: Context,
  { bound, kind, parameters }: TileAsked,
): Promise<Response> {
  const subset = gridSubsetOf(bound.layer, context.param('gridSet'));
  const index = indexAsked(context, subset);
  const named = formatParameter(context);
  const offered = formatsOf(bound.layer, kind);
  const format = named === null ? formatAccepted(context, offered) : formatAsked(bound, offered, named);
  const wanted = { gridSet: subset.gridSet.name, format: format.mediaType, parameters };
  const answer = await answerTile(context, resolveTileSet(bound, wanted), index);
  return named === null ? withHeaders(answer, ['Vary', 'Accept']) : answer;
}

/** By extension or media type. */
function formatAsked({ layer }: BoundLayer, offered: readonly Format[], name: string): Format {
  const wanted = name.includes('/') ? formatOf(name) : formatNamed(layer, name);
  const found = offered.find(({ mediaType }) => mediaType === wanted?.mediaType);
  if (found) return found;
  const names = offered.map(({ extensions }) => extensions[0]).join(', ');
  throw new TilewardenError('format-unknown', `f must be one of ${names}, not ${shortened(name)}.`);
}

function indexAsked(context: Context, subset: GridSubset): TileIndex {
  return {
    z: zoomNamed(subset, context.param('matrix')),
    x: indexOf('column', context.param('column')),
    y: indexOf('row', context.param('row')),
  };
}

/** By the level's name; by its number too, where no level has that for a name. */
function zoomNamed(subset: GridSubset, name: string): number {
  const { levels } = subset.gridSet;
  const named = levels.findIndex((level) => level.name === name);
  const z = named >= 0 ? named : levels.findIndex((_, number) => String(number) === name);
  if (z >= 0) return z;
  const offered = levels.filter((_, zoom) => coverageAt(subset, zoom)).map((level) => level.name);
  throw new HttpProblem(
    'path-unknown',
    `There is no tile matrix ${shortened(name)}; there are ${offered[0]} to ${offered.at(-1)}.`,
  );
}
