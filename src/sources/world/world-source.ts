import { z } from 'zod';
import type { Bounds } from '../../domain/bounds.ts';
import { invalid, TilewardenError } from '../../domain/errors.ts';
import { type GridSet, METERS_PER_DEGREE } from '../../domain/grid-set.ts';
import { whole } from '../../lib/schemas.ts';
import { spawnThread } from '../../lib/spawn-thread.ts';
import type { SourceDriver, SourceTools } from '../source-driver.ts';
import type { SourceRequest, TileSource } from '../tile-source.ts';
import { type DrawingJob, openDrawingPool } from './drawing-pool.ts';
import { MAP_STYLES, type MapStyleName } from './map-style.ts';
import { createMapView, type MapProjection, projectionOf } from './map-view.ts';

const DEFAULT_THREADS = 1;
const MAX_THREADS = 16;

/** The built-in map. Each thread has its own copy of the data that it needs. */
const worldSourceOptions = z.strictObject({
  type: z.literal('world'),
  threads: whole(1, MAX_THREADS).default(DEFAULT_THREADS),
});

type WorldSourceOptions = z.output<typeof worldSourceOptions>;

const MAX_WAITING = 256;
/** Detects a hanging thread; long, since workers draw slowly on a busy machine: they have a low priority. */
const DRAWING_TIMEOUT_MS = 120_000;
/** A metatile of this many pixels holds 64 MiB. */
const MAX_PIXELS = 4096 * 4096;

/** The built-in map of the world. No thread starts and nothing is read before the first picture. */
export function openWorldSource(options: WorldSourceOptions, { log }: Pick<SourceTools, 'log'>): TileSource {
  const pool = openDrawingPool({
    threads: options.threads,
    maxWaiting: MAX_WAITING,
    timeoutMs: DRAWING_TIMEOUT_MS,
    startThread: () => spawnThread(import.meta.url, 'drawing-thread', { name: 'world-map' }),
    log,
  });
  return {
    maxMetatile: null,
    async fetch(request) {
      const pixels = await pool.draw(jobOf(request), request);
      return { kind: 'pixels', pixels, width: request.width, height: request.height };
    },
    close: () => pool.close(),
  };
}

function jobOf(request: SourceRequest): DrawingJob {
  const { gridSet, width, height } = request;
  if (width * height > MAX_PIXELS) {
    throw invalid(`The built-in map draws at most ${MAX_PIXELS} pixels in one image.`);
  }
  const projection = projectionFor(gridSet);
  const { pixelRatio } = gridSet;
  const bounds = inDegrees(request.bounds, projection);
  const view = createMapView(projection, bounds, width / pixelRatio, height / pixelRatio, pixelRatio);
  return { view, style: styleOf(request.parameters) };
}

function projectionFor(gridSet: GridSet): MapProjection {
  const projection = projectionOf(gridSet.srs);
  if (projection) return projection;
  throw new TilewardenError(
    'source-unavailable',
    `The built-in map is drawn in EPSG:4326 and EPSG:3857, not in EPSG:${gridSet.srs} (${gridSet.name}).`,
    { reason: 'unsupported-crs' },
  );
}

function inDegrees(bounds: Bounds, projection: MapProjection): Bounds {
  const unit = projection === 'mercator' ? METERS_PER_DEGREE : 1;
  return {
    minX: bounds.minX / unit,
    minY: bounds.minY / unit,
    maxX: bounds.maxX / unit,
    maxY: bounds.maxY / unit,
  };
}

function styleOf(parameters: ReadonlyMap<string, string>): MapStyleName {
  const styleName = parameters.get('STYLES') ?? '';
  if (styleName === '') return 'light';
  const style = MAP_STYLES.find((name) => name === styleName);
  if (style) return style;
  throw new TilewardenError(
    'parameter-refused',
    `STYLES of the built-in map is one of ${MAP_STYLES.join(', ')}, not ${JSON.stringify(styleName)}.`,
  );
}

export const worldDriver = {
  type: 'world',
  options: worldSourceOptions,
  shown: [],
  connection: [],
  pictures: 'drawn',
  passesCredentials: false,
  queryable: false,
  open: openWorldSource,
} as const satisfies SourceDriver<WorldSourceOptions>;
