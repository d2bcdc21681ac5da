import { z } from 'zod';
import { applyMask } from '../../domain/area-mask.ts';
import { isSourceFailure } from '../../domain/errors.ts';
import { formatOf } from '../../domain/format.ts';
import { type GridSet, isWithinScales, type Scales, scaleAt } from '../../domain/grid-set.ts';
import { joinFeatureInfo } from '../../domain/join-feature-info.ts';
import { maskWithin } from '../../domain/placed-area.ts';
import type { ClearColour, Composer, PlacedPicture } from '../../domain/placed-picture.ts';
import { text, whole } from '../../lib/schemas.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { CurrentArea, SourceDriver, SourcePart, SourceTools } from '../source-driver.ts';
import { createSourceLife } from '../source-life.ts';
import type { InfoRequest, SourceRequest, SourceResult, TileSource } from '../tile-source.ts';
import { rgbOf } from '../within/within-area.ts';
import { drawLayer, type PartPicture } from './draw-layer.ts';

const MAX_PARTS = 32;
const MAX_ZOOM = 30;
/** Limit of layers that one source resamples at the same time. */
const MAX_RESAMPLING = 2;

/** Options of a layer to draw from, in both types of source. */
const layerOptions = {
  gridSet: text
    .optional()
    .describe('Its grid set to draw from; one in the same CRS, else its first, when left out'),
  resampling: z
    .enum(['bilinear', 'nearest'])
    .optional()
    .describe('Interpolation: between the four nearest pixels (bilinear, the default), or the nearest one'),
};

/** Another layer of this server, in grid sets that its own source does not have: the short form of one part. */
export const layerSourceOptions = z.strictObject({
  type: z.literal('layer'),
  layer: text.describe('Name of the other layer'),
  ...layerOptions,
});

type LayerSourceOptions = z.output<typeof layerSourceOptions>;

interface PartSource {
  readonly type: string;
}

/** A part of a picture: a layer of this server, or a source without a cache of its own. */
interface Part<Source> extends Omit<SourcePart, 'source'> {
  readonly source?: Source | undefined;
  readonly resampling?: 'bilinear' | 'nearest' | undefined;
  readonly opacity?: number;
  readonly zooms?: readonly [number, number] | undefined;
  readonly scales?: Scales | undefined;
  readonly transparentColor?: string | undefined;
  readonly tolerance?: number | undefined;
}

/** The pictures of a part, and how current they are. */
interface DrawnPart
  extends Pick<Extract<SourceResult, { kind: 'pixels' }>, 'stale' | 'failure' | 'freshSeconds' | 'warning'> {
  readonly pictures: readonly PartPicture[];
}
type DrawPart = (request: SourceRequest) => Promise<DrawnPart | null>;

const layersSourceOptions = <Source extends PartSource>(source: z.ZodType<Source>) => {
  const zoom = whole(0, MAX_ZOOM);
  const scale = z.number().min(0);
  const part = z
    .strictObject({
      layer: text.optional().describe('Name of a layer of this server'),
      source: source
        .optional()
        .describe('Instead of layer: a source of its own, which is not cached by itself'),
      ...layerOptions,
      opacity: z.number().min(0).max(1).default(1).describe('0: invisible; 1: as it is'),
      zooms: z.tuple([zoom, zoom]).optional().describe('First and last zoom at which it is drawn'),
      scales: z
        .tuple([scale, scale])
        .optional()
        .describe('Instead of zooms: scale denominators from which, and below which, it is drawn'),
      within: text.optional().describe('Name of an area: it is drawn inside only'),
      transparentColor: z
        .string()
        .regex(/^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$/, 'must be a colour like #FFFFFF')
        .optional()
        .describe('Colour that is drawn as transparent, e.g. #FFFFFF'),
      tolerance: whole(0, 255)
        .optional()
        .describe('By how much each channel of transparentColor may differ; 0 when left out'),
    })
    .superRefine(checkPart);
  return z.strictObject({
    type: z.literal('layers'),
    of: z
      .array(part)
      .max(MAX_PARTS)
      .describe('Parts of the picture, the first one at the bottom; none: an empty picture'),
  });
};

function checkPart(part: Part<unknown>, context: z.RefinementCtx): void {
  const refuse = (message: string, path: string[] = []) =>
    context.addIssue({ code: 'custom', message, path, input: part });
  if ((part.layer === undefined) === (part.source === undefined)) {
    refuse('needs exactly one of layer and source');
  }
  if (part.zooms && part.scales) refuse('does not go with zooms', ['scales']);
  for (const key of ['zooms', 'scales'] as const) {
    const [first, last] = part[key] ?? [0, 0];
    if (first > last) refuse('must have the smaller number first', [key]);
  }
  for (const key of ['gridSet', 'resampling'] as const) {
    if (part.source !== undefined && part[key] !== undefined) refuse('goes only with layer', [key]);
  }
  if (part.tolerance !== undefined && part.transparentColor === undefined) {
    refuse('goes only with transparentColor', ['tolerance']);
  }
}

/** Lossless and with transparency, whatever the layer's own tiles are. */
const PART_FORMAT = formatOf('image/png');

/** Draws layers of this server and other sources on top of each other. */
function openLayersSource<Source extends PartSource>(
  parts: readonly Part<Source>[],
  tools: Pick<SourceTools, 'readLayer' | 'decode' | 'composer' | 'areas'>,
  openPart: (source: Source) => TileSource,
): TileSource {
  const life = createSourceLife();
  const resampling = new Semaphore(MAX_RESAMPLING);
  const sources = new Map(
    parts.flatMap((part) => (part.source === undefined ? [] : [[part, openPart(part.source)]])),
  );
  const limits = [...sources.values()].flatMap(({ maxMetatile }) => maxMetatile ?? []);

  function drawerOf(part: Part<Source>): DrawPart {
    const colour = part.transparentColor;
    const clear = colour === undefined ? null : { rgb: rgbOf(colour), tolerance: part.tolerance ?? 0 };
    const { layer } = part;
    const source = sources.get(part);
    const { decode, composer } = tools;
    if (source) return (request) => drawSource(source, request, clear, composer);
    if (layer === undefined) throw new Error('A part has neither layer nor source.');
    return (request) =>
      drawLayer({ ...part, layer }, tools.readLayer(layer), request, { resampling, decode, composer }, clear);
  }

  const drawers = parts.map((part) => {
    const area = part.within === undefined ? null : tools.areas.get(part.within);
    if (area === undefined) throw new Error(`There is no area ${part.within}.`);
    return { part, draw: area ? clipped(drawerOf(part), area, tools.composer) : drawerOf(part) };
  });
  return {
    maxMetatile:
      limits.length === 0
        ? null
        : {
            columns: Math.min(...limits.map(({ columns }) => columns)),
            rows: Math.min(...limits.map(({ rows }) => rows)),
          },
    fetch: (request) =>
      life.during(request.signal, (signal) => {
        const shown = drawers.filter(({ part }) => isShown(part, request));
        return drawParts(shown, { ...request, signal }, tools.composer);
      }),
    featureInfo: (request) =>
      life.during(request.signal, async (signal) => {
        const shown = parts.filter((part) =>
          isWithinScales(scalesOf(part, request.gridSet), scaleOf(request)),
        );
        const infoOf = async (part: Part<Source>) => {
          if (part.layer !== undefined)
            return (await tools.readLayer(part.layer)?.info?.({ ...request, signal })) ?? null;
          return (await sources.get(part)?.featureInfo?.({ ...request, signal })) ?? null;
        };
        const found = await Promise.all(shown.map(infoOf));
        const documents = found.flatMap((info) => info?.bytes ?? []);
        return { bytes: joinFeatureInfo(request.infoFormat, documents), mediaType: request.infoFormat };
      }),
    async close() {
      life.end();
      await Promise.all([...sources.values()].map((source) => source.close()));
    },
  };
}

/** Whether the part is drawn at the zoom of the request. */
function isShown(
  { zooms, scales }: Pick<Part<unknown>, 'zooms' | 'scales'>,
  { gridSet, metatile: { z } }: SourceRequest,
): boolean {
  if (zooms) return z >= zooms[0] && z <= zooms[1];
  return !scales || isWithinScales(scales, scaleAt(gridSet, z));
}

/** The scales of a part; for zooms, half a zoom beyond the first and last. */
function scalesOf({ zooms, scales }: Pick<Part<unknown>, 'zooms' | 'scales'>, gridSet: GridSet): Scales {
  if (!zooms) return scales ?? [0, Infinity];
  const [first, last] = zooms.map((z) => Math.min(z, gridSet.levels.length - 1));
  return [scaleAt(gridSet, last ?? 0) / Math.SQRT2, scaleAt(gridSet, first ?? 0) * Math.SQRT2];
}

function scaleOf({ bounds, width, gridSet }: InfoRequest): number {
  return (((bounds.maxX - bounds.minX) / width) * gridSet.metersPerUnit) / gridSet.pixelSize;
}

async function drawSource(
  source: TileSource,
  request: SourceRequest,
  clear: ClearColour | null,
  composer: Composer,
): Promise<DrawnPart | null> {
  const answer = await source.fetch({ ...request, format: PART_FORMAT ?? request.format, validator: null });
  if (answer.kind !== 'pixels' && answer.kind !== 'encoded') return null;
  const { freshSeconds = null, warning = null } = answer;
  const { stale = false, failure } = answer.kind === 'pixels' ? answer : {};
  const picture =
    answer.kind === 'pixels'
      ? ({ kind: 'pixels', bytes: answer.pixels } as const)
      : await composer.prepare(answer.bytes, request);
  return { pictures: [{ ...wholeOf(request), ...picture, clear }], stale, failure, freshSeconds, warning };
}

function wholeOf({ width, height }: SourceRequest) {
  const inside = { minX: 0, minY: 0, maxX: width - 1, maxY: height - 1 };
  return { left: 0, top: 0, width, height, inside };
}

/** Draws a part inside the area only, and not at all if the request is completely outside. */
function clipped(draw: DrawPart, area: CurrentArea, composer: Composer): DrawPart {
  return async (request) => {
    const mask = await maskWithin([area()], request.gridSet, request);
    const drawn = mask === 'nothing' ? null : await draw(request);
    if (!drawn || typeof mask === 'string') return drawn;
    const pixels = await composer.compose(request, withOpacity(drawn.pictures, 1));
    applyMask(pixels, mask);
    return { ...drawn, pictures: [{ ...wholeOf(request), kind: 'pixels', bytes: pixels, clear: null }] };
  };
}

function* withOpacity(pictures: readonly PartPicture[], opacity: number): Generator<PlacedPicture> {
  for (const picture of pictures) yield { ...picture, opacity };
}

type OrFailed = (failure: unknown) => { readonly failure: unknown };

interface ShownPart extends DrawnPart {
  readonly opacity: number;
}

/**
 * A failing part fails a task; for a client the others are drawn, and the result is not stored. If no other part shows
 * anything the source fails.
 */
async function drawParts(
  parts: readonly { readonly part: Pick<Part<unknown>, 'opacity'>; readonly draw: DrawPart }[],
  request: SourceRequest,
  composer: Composer,
): Promise<SourceResult> {
  const { width, height, signal, priority } = request;
  const orFailed: OrFailed = (failure) => {
    if (signal.aborted || priority === 'task' || !isSourceFailure(failure)) throw failure;
    return { failure };
  };
  const all = await Promise.all(parts.map(({ draw }) => draw(request).catch(orFailed)));
  const drawn = all.flatMap((one, at) =>
    one === null || !('pictures' in one) ? [] : [{ ...one, opacity: parts[at]?.part.opacity ?? 1 }],
  );
  const partFailure = all.find((one) => one?.failure !== undefined)?.failure;
  if (drawn.length === 0 && partFailure !== undefined) throw partFailure;
  if (drawn.length === 0) return { kind: 'nothing' };
  const { pixels, failure = partFailure } = await layOver(drawn, request, composer, orFailed);
  const promised = drawn.flatMap(({ freshSeconds }) => freshSeconds ?? []);
  return {
    kind: 'pixels',
    pixels,
    width,
    height,
    stale: failure !== undefined || drawn.some(({ stale }) => stale),
    freshSeconds: promised.length === 0 ? null : Math.min(...promised),
    warning: drawn.find(({ warning }) => warning)?.warning ?? null,
    ...(failure !== undefined && { failure }),
  };
}

/** Draws the first part at the bottom. A part with a damaged picture fails like one that could not be read. */
async function layOver(
  parts: readonly ShownPart[],
  request: SourceRequest,
  composer: Composer,
  orFailed: OrFailed,
): Promise<{ readonly pixels: Buffer; readonly failure?: unknown }> {
  let current: ShownPart | undefined;
  function* pictures() {
    for (current of parts) yield* withOpacity(current.pictures, current.opacity);
  }
  try {
    return { pixels: await composer.compose(request, pictures()) };
  } catch (error) {
    const failed = orFailed(error);
    const others = parts.filter((part) => part !== current);
    if (others.length === 0) throw error;
    return { ...(await layOver(others, request, composer, orFailed)), ...failed };
  }
}

const DRAWN_FROM_LAYERS = {
  connection: [],
  pictures: 'resampled',
  passesCredentials: false,
  queryable: true,
} as const;

export const layerDriver = {
  ...DRAWN_FROM_LAYERS,
  type: 'layer',
  options: layerSourceOptions,
  shown: ['layer', 'gridSet'],
  parts: (options) => [options],
  open: (options, tools) =>
    openLayersSource([options], tools, () => {
      throw new Error('A layer is no source of its own.');
    }),
} as const satisfies SourceDriver<LayerSourceOptions>;

/** `partSchema`: of a part's own source; `driverOf`: its driver. */
export function createLayersDriver<Source extends PartSource>(
  partSchema: z.ZodType<Source>,
  driverOf: (source: Source) => SourceDriver<Source>,
) {
  type Options = z.output<ReturnType<typeof layersSourceOptions<Source>>>;
  return {
    ...DRAWN_FROM_LAYERS,
    type: 'layers',
    options: layersSourceOptions(partSchema),
    shown: [],
    parts: ({ of }: Options): readonly Part<Source>[] => of,
    fileOption({ of }: Options) {
      for (const [index, { source }] of of.entries()) {
        const path = source && driverOf(source).fileOption?.(source);
        if (path) return ['of', index, 'source', ...path];
      }
      return null;
    },
    open: ({ of }: Options, tools: SourceTools) =>
      openLayersSource(of, tools, (source) => driverOf(source).open(source, tools)),
  } as const satisfies SourceDriver<Options>;
}
