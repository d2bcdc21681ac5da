import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { builtInGridSets } from '../../src/domain/built-in-grid-sets.ts';
import { isTilewardenError } from '../../src/domain/errors.ts';
import { type Format, formatOf } from '../../src/domain/format.ts';
import { createGridSubset } from '../../src/domain/grid-subset.ts';
import { metatileAt, metatileImage } from '../../src/domain/metatile.ts';
import type { SourceRequest, SourceResult, TileSource } from '../../src/sources/tile-source.ts';
import { evenGutter } from '../fixtures/layers.ts';
import { acceptImage } from '../fixtures/pictures.ts';

/** A driver provides this to run the contract below on its source. */
export interface TileSourceHarness {
  /** A new source; `close` ends it and its services. */
  open(): Promise<{ readonly source: TileSource; close(): Promise<void> }>;
  readonly formats: readonly string[];
  /** Grid sets of requests; web mercator and degrees when left out. */
  readonly gridSets?: readonly string[];
  /** Makes every request fail from now on; null for a source that draws by itself and cannot. */
  readonly breakIt: (() => void) | null;
  /** Makes every request hang until it is aborted; null for a source too quick for that. */
  readonly hang: (() => void) | null;
}

const FAILURES = ['source-unavailable', 'source-timeout', 'source-busy', 'source-bad-answer'] as const;

export interface RequestChanges extends Partial<SourceRequest> {
  readonly gridSetName?: string;
  readonly gutter?: number;
  /** Tiles along a side; 2 when left out. */
  readonly tiles?: number;
}

/** A request for the metatile of 2×2 tiles at zoom 2, column and row 0, with its gutter. */
export function sourceRequest({
  gridSetName: name = 'EPSG:900913',
  gutter = 0,
  tiles = 2,
  ...changes
}: RequestChanges = {}): SourceRequest {
  const gridSet = changes.gridSet ?? builtInGridSets().find((known) => known.name === name);
  if (!gridSet) throw new Error(`no grid set ${name}`);
  const metatile = metatileAt(createGridSubset(gridSet), { columns: tiles, rows: tiles }, 2, 0, 0);
  if (!metatile) throw new Error('no metatile');
  return {
    gridSet,
    metatile,
    ...metatileImage(gridSet, metatile, evenGutter(gutter)),
    format: formatOf('image/png') as Format,
    parameters: new Map(),
    priority: 'interactive',
    signal: new AbortController().signal,
    ...changes,
  };
}

async function sizeOf(answer: SourceResult, { width, height }: SourceRequest): Promise<readonly number[]> {
  if (answer.kind === 'nothing' || answer.kind === 'unchanged') throw new Error('there is nothing');
  if (answer.kind === 'pixels') return [answer.width, answer.height, answer.pixels.length];
  const image = await acceptImage(answer.bytes, answer.mediaType, width, height);
  return [image.width, image.height, image.pixels.length];
}

export function describeTileSource(name: string, harness: TileSourceHarness): void {
  describe(`${name} as a tile source`, () => {
    let opened: Awaited<ReturnType<TileSourceHarness['open']>>;
    const open = async () => {
      opened = await harness.open();
    };
    const close = () => opened.close();

    /** As large as one request to the source can be: ready-made tiles are single and have no gutter. */
    function ask(changes: RequestChanges = {}): SourceRequest {
      const gridSetName = harness.gridSets?.[0] ?? 'EPSG:900913';
      const readyMade = opened.source.maxMetatile?.columns === 1 ? { tiles: 1, gutter: 0 } : {};
      return sourceRequest({ gridSetName, ...changes, ...readyMade });
    }

    async function failureOf(request: SourceRequest): Promise<unknown> {
      return await opened.source.fetch(request).then(
        () => null,
        (error: unknown) => error,
      );
    }

    describe('that stays open', () => {
      beforeAll(open);
      afterAll(close);

      for (const mediaType of harness.formats) {
        it(`the ${name} source returns an image of the requested size for tiles of ${mediaType}`, async () => {
          for (const gridSetName of harness.gridSets ?? ['EPSG:900913', 'EPSG:4326']) {
            const format = formatOf(mediaType) as Format;
            const request = ask({ gridSetName, format, gutter: 7 });
            const answer = await opened.source.fetch(request);
            const side = opened.source.maxMetatile?.columns === 1 ? 256 : 526;
            expect(await sizeOf(answer, request)).toEqual([side, side, side * side * 4]);
          }
        });
      }

      it(`the ${name} source returns the same image for the same place`, async () => {
        const [first, second] = await Promise.all([opened.source.fetch(ask()), opened.source.fetch(ask())]);
        expect(bytesOf(first).equals(bytesOf(second))).toBe(true);
      });

      it(`the ${name} source rejects with the reason of an aborted signal`, async () => {
        const reason = new Error('the caller has gone');
        expect(await failureOf(ask({ signal: AbortSignal.abort(reason) }))).toBe(reason);
      });
    });

    describe('that fails or is closed', () => {
      beforeEach(open);
      afterEach(close);

      it(`the ${name} source rejects requests after it was closed`, async () => {
        await opened.source.close();
        const failure = await failureOf(ask());
        expect(isTilewardenError(failure, ...FAILURES, 'stopping')).toBe(true);
      });

      it(`the ${name} source can be closed twice`, async () => {
        await opened.source.close();
        await expect(opened.source.close()).resolves.toBeUndefined();
      });

      const { breakIt, hang } = harness;
      if (breakIt) {
        it(`the ${name} source fails with an error code of sources`, async () => {
          breakIt();
          const failure = await failureOf(ask());
          expect(isTilewardenError(failure, ...FAILURES)).toBe(true);
        });
      }

      if (hang) {
        it(`the ${name} source stops when a running request is aborted`, async () => {
          hang();
          const controller = new AbortController();
          const failing = failureOf(ask({ signal: controller.signal }));
          const reason = new Error('enough');
          setImmediate(() => controller.abort(reason));
          expect(await failing).toBe(reason);
        });

        it(`the ${name} source ends running requests when it is closed`, async () => {
          hang();
          const failing = failureOf(ask());
          setImmediate(() => void opened.source.close());
          expect(isTilewardenError(await failing, ...FAILURES, 'stopping')).toBe(true);
        });
      }
    });
  });
}

function bytesOf(answer: SourceResult): Buffer {
  if (answer.kind === 'nothing' || answer.kind === 'unchanged') return Buffer.alloc(0);
  return answer.kind === 'pixels' ? answer.pixels : answer.bytes;
}
