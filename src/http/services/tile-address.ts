import { invalid, shortened, TilewardenError } from '../../domain/errors.ts';
import { type Format, formatOfExtension } from '../../domain/format.ts';
import type { Layer } from '../../domain/layer.ts';
import { RETINA_SUFFIX } from '../../domain/retina.ts';

/** Plain decimal, without sign, leading zero or exponent, so that one tile has one address. */
const INDEX = /^(?:0|[1-9]\d{0,9})$/;

export function indexOf(name: 'zoom' | 'column' | 'row', text: string): number {
  if (INDEX.test(text)) return Number(text);
  throw invalid(`The ${name} must be a whole number such as 0 or 12, not ${shortened(text)}.`);
}

/** The last part of a tile's address: `12.png` is row 12 in the format of the extension `png`. */
export function splitRow(text: string): { readonly row: string; readonly extension: string } {
  const dot = text.lastIndexOf('.');
  if (dot > 0) return { row: text.slice(0, dot), extension: text.slice(dot + 1) };
  throw invalid(`A tile's address ends in a row and an extension such as 12.png.`);
}

export interface TileName {
  readonly row: string;
  /** `@2x`: with twice the pixels along each side. */
  readonly retina: boolean;
  /** Null: the caller's `Accept` decides. */
  readonly extension: string | null;
}

/** As `splitRow`, where the extension may be missing: `12`, `12.png`, `12@2x`, `12@2x.png`. */
export function readTileName(text: string): TileName {
  const dot = text.indexOf('.');
  const stem = dot < 0 ? text : text.slice(0, dot);
  const extension = dot < 0 ? null : text.slice(dot + 1);
  const retina = stem.endsWith(RETINA_SUFFIX);
  const row = retina ? stem.slice(0, -RETINA_SUFFIX.length) : stem;
  const wellFormed = row !== '' && !row.includes('@') && extension !== '' && !extension?.includes('.');
  if (wellFormed) return { row, retina, extension };
  throw invalid(`A tile's address ends in a row, such as 12, 12.png or 12@2x.png, not ${shortened(text)}.`);
}

/** Of `image/png8` and `image/png` the extension `png` means the latter; a layer that has only the former gives that. */
export function formatNamed(layer: Layer, extension: string): Format {
  const wanted = formatOfExtension(extension);
  const found =
    layer.formats.find((format) => format.extensions.includes(extension)) ??
    layer.formats.find((format) => format.contentType === wanted?.contentType);
  if (found) return found;
  const offered = layer.formats.map((format) => format.extensions[0]).join(', ');
  throw new TilewardenError(
    'format-unknown',
    `Layer ${layer.name} has no .${shortened(extension)} tiles; it has ${offered}.`,
  );
}
