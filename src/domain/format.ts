/** An image format that a layer can offer. */
export interface Format {
  /** As clients name it and as answers carry it, e.g. `image/png`. `image/png8` answers as `image/png`. */
  readonly mediaType: string;
  readonly contentType: string;
  /** Without a dot; the first of `extensions` is the one we write. */
  readonly extensions: readonly [string, ...string[]];
  /** `raster` can be cut from a metatile; `opaque` bytes travel as they came, one tile at a time. */
  readonly kind: 'raster' | 'opaque';
  readonly alpha: boolean;
}

const FORMATS: readonly Format[] = [
  { mediaType: 'image/png', contentType: 'image/png', extensions: ['png'], kind: 'raster', alpha: true },
  { mediaType: 'image/png8', contentType: 'image/png', extensions: ['png8'], kind: 'raster', alpha: true },
  { mediaType: 'image/png24', contentType: 'image/png', extensions: ['png24'], kind: 'raster', alpha: true },
  {
    mediaType: 'image/jpeg',
    contentType: 'image/jpeg',
    extensions: ['jpeg', 'jpg'],
    kind: 'raster',
    alpha: false,
  },
  { mediaType: 'image/gif', contentType: 'image/gif', extensions: ['gif'], kind: 'raster', alpha: true },
  { mediaType: 'image/webp', contentType: 'image/webp', extensions: ['webp'], kind: 'raster', alpha: true },
  {
    mediaType: 'application/vnd.mapbox-vector-tile',
    contentType: 'application/vnd.mapbox-vector-tile',
    extensions: ['pbf', 'mvt'],
    kind: 'opaque',
    alpha: true,
  },
];

export const FORMAT_NAMES: readonly string[] = FORMATS.map((format) => format.mediaType);

export function formatOf(mediaType: string): Format | null {
  return FORMATS.find((format) => format.mediaType === mediaType) ?? null;
}

export function formatOfExtension(extension: string): Format | null {
  return FORMATS.find((format) => format.extensions.includes(extension)) ?? null;
}
