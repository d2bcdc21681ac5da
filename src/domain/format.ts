/** Encoding of a picture. Absent options have the default of the format. */
export interface Encoding {
  /** Name in requests and responses, e.g. `image/png`. `image/png8` is served as `image/png`. */
  readonly mediaType: string;
  /** 1 to 100. */
  readonly quality?: number;
  readonly lossless?: boolean;
  /** At most this many, transparent included. */
  readonly colors?: number;
  /** 0 to 1. */
  readonly dither?: number;
}

export interface Format extends Encoding {
  readonly contentType: string;
  /** Without a dot; the first of `extensions` is the one we write. */
  readonly extensions: readonly [string, ...string[]];
  /** `raster` can be cut from a metatile; `opaque` bytes are passed on unchanged, one tile at a time. */
  readonly kind: 'raster' | 'opaque';
  readonly alpha: boolean;
}

const FORMATS: readonly Format[] = [
  raster('image/png', ['png']),
  raster('image/png8', ['png8'], 'image/png'),
  raster('image/png24', ['png24'], 'image/png'),
  { ...raster('image/jpeg', ['jpeg', 'jpg']), alpha: false },
  raster('image/gif', ['gif']),
  raster('image/webp', ['webp']),
  raster('image/avif', ['avif']),
  raster('image/vnd.jpeg-png', ['jpeg-png']),
  raster('image/vnd.jpeg-png8', ['jpeg-png8']),
  { ...raster('application/vnd.mapbox-vector-tile', ['pbf', 'mvt']), kind: 'opaque' },
];

function raster(mediaType: string, extensions: Format['extensions'], contentType = mediaType): Format {
  return { mediaType, contentType, extensions, kind: 'raster', alpha: true };
}

/** Mixed formats: an opaque tile is a JPEG, any other the PNG named here. */
const MIXED: ReadonlyMap<string, string> = new Map([
  ['image/vnd.jpeg-png', 'image/png'],
  ['image/vnd.jpeg-png8', 'image/png8'],
]);

/** The encoding of a picture: in a mixed format JPEG if it is opaque. */
export function encodingOf(format: Encoding, isOpaque: () => boolean): Encoding {
  const png = MIXED.get(format.mediaType);
  if (png === undefined) return format;
  return { ...format, mediaType: isOpaque() ? 'image/jpeg' : png };
}

/** Options of `Encoding` that each format has. */
export function encodingOptions(mediaType: string): readonly (keyof Encoding)[] {
  return OPTIONS.get(mediaType) ?? [];
}

const OPTIONS: ReadonlyMap<string, readonly (keyof Encoding)[]> = new Map([
  ['image/jpeg', ['quality']],
  ['image/webp', ['quality', 'lossless']],
  ['image/avif', ['quality', 'lossless']],
  ['image/png8', ['colors', 'dither']],
  ['image/vnd.jpeg-png', ['quality']],
  ['image/vnd.jpeg-png8', ['quality', 'colors', 'dither']],
]);

export function isMixed(mediaType: string): boolean {
  return MIXED.has(mediaType);
}

/** Whether tiles of the format may be pictures of that content type: a mixed format has two. */
export function hasContentType({ mediaType, contentType }: Format, wanted: string): boolean {
  return MIXED.has(mediaType) ? ['image/jpeg', 'image/png'].includes(wanted) : contentType === wanted;
}

/** Type of one picture: in a mixed format its first byte decides. */
export function contentTypeOf({ mediaType, contentType }: Format, bytes: Buffer): string {
  if (!MIXED.has(mediaType)) return contentType;
  return bytes[0] === 0xff ? 'image/jpeg' : 'image/png';
}

export const FORMAT_NAMES: readonly string[] = FORMATS.map((format) => format.mediaType);

/** Other spellings that clients use, without spaces. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ['image/png;mode=24bit', 'image/png24'],
  ['image/png;mode=8bit', 'image/png8'],
]);

/** One name for a type that servers spell differently: `image/png; mode=8bit` and `image/x-png` are `image/png`. */
export function plainImageType(mediaType: string): string {
  const type = (mediaType.split(';')[0] ?? '').trim().toLowerCase().replace('image/x-', 'image/');
  return type.replace(/^image\/png\d+$/, 'image/png').replace(/^image\/p?jpe?g$/, 'image/jpeg');
}

/** By media type, in any case. Parameters of image types do not matter, save the modes of PNG. */
export function formatOf(mediaType: string): Format | null {
  return named(mediaType) ?? namedLoosely(mediaType.toLowerCase().replaceAll(' ', ''));
}

export function formatOfExtension(extension: string): Format | null {
  const wanted = extension.toLowerCase();
  return FORMATS.find((format) => format.extensions.includes(wanted)) ?? null;
}

function namedLoosely(mediaType: string): Format | null {
  const spelled = named(ALIASES.get(mediaType) ?? mediaType);
  const [type = ''] = mediaType.split(';', 1);
  if (spelled || type === mediaType || !type.startsWith('image/')) return spelled;
  return named(ALIASES.get(type) ?? type);
}

function named(mediaType: string): Format | null {
  return FORMATS.find((format) => format.mediaType === mediaType) ?? null;
}
