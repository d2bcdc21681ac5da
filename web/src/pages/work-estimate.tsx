import { type ApiResponse, part } from '../api/client.ts';
import { type Resource, useResource } from '../api/use-resource.ts';
import { bytesText, countText, durationText, fill, percentText } from '../format.ts';
import { Facts, ProblemNotice, Table } from '../parts/basics.tsx';
import type { TaskRequest } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import { selectionOf } from './work-plan.ts';

type EstimateResponse = Extract<ApiResponse<'POST /api/v1/tasks'>, { metatiles: number }>;
type Cached = Pick<ApiResponse<'POST /api/v1/layers/{layer}/truncate'>, 'tiles' | 'bytes'>;

type Remaining = ReturnType<typeof remaining>;

const WORDS = TEXTS.seed;
/** Duration in seconds from which a task has a warning. */
const VERY_LONG = 30 * 86_400;
/** An estimate whose limits differ by a smaller factor is shown as a single number. */
const WIDE_RANGE = 1.5;

/** `skipsFresh`: counts only missing and stale tiles, which a seed makes. */
export function useEstimate(request: object | null, skipsFresh: boolean) {
  const response = useResource<EstimateResponse>(request && 'api/v1/tasks', null, {
    ...request,
    dryRun: true,
  });
  const data = response.data && request && remaining(response.data, skipsFresh);
  return { data, problem: response.problem };
}

/** The work that is left for a request. */
function remaining(response: EstimateResponse, skipsFresh: boolean) {
  const { quota, disk, coveredUse, addedBytes, staleTiles } = response;
  const zooms = response.zooms.map(({ z, tiles, metatiles, cachedTiles, staleTiles: stale }) => {
    const left = skipsFresh ? Math.max(0, tiles - cachedTiles + stale) : tiles;
    const requests = tiles === 0 ? 0 : Math.ceil((metatiles * left) / tiles);
    return { z, all: tiles, tiles: left, requests };
  });
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const tiles = sum(zooms.map((zoom) => zoom.tiles));
  const share = response.tiles === 0 ? 0 : tiles / response.tiles;
  return {
    all: response.tiles,
    tiles,
    stale: skipsFresh ? staleTiles : 0,
    upstreamRequests: sum(zooms.map(({ requests }) => requests)),
    zooms,
    seconds: response.seconds === null ? null : Math.ceil(response.seconds * share),
    addedBytes,
    quota,
    disk,
    coveredUse,
  };
}

/** The cached tiles that a truncation deletes or an export copies. `every`: of all formats and parameter values. */
export function useCached(request: TaskRequest | null, every: boolean): Resource<Cached> {
  const path = request && `api/v1/layers/${part(request.layer)}/truncate`;
  return useResource<Cached>(path, null, { ...(request && selectionOf(request, every)), dryRun: true });
}

export function CachedCount({ resource: { data, problem } }: { resource: Resource<Cached> }) {
  if (problem) return <ProblemNotice problem={problem} />;
  if (!data) return <p className="quiet">{WORDS.estimating}</p>;
  return (
    <div aria-live="polite">
      <Facts
        of={[
          [
            WORDS.cached,
            <span key="tiles" className="big">
              {countText(data.tiles)}
            </span>,
          ],
          [WORDS.bytes, bytesText(data.bytes)],
        ]}
      />
    </div>
  );
}

export function Estimate({ resource: { data, problem } }: { resource: ReturnType<typeof useEstimate> }) {
  if (problem) return <ProblemNotice problem={problem} />;
  if (!data) return <p className="quiet">{WORDS.estimating}</p>;
  const { tiles, all, stale, addedBytes, seconds, zooms } = data;
  const count =
    tiles === all ? countText(all) : fill(TEXTS.outOf, { some: countText(tiles), all: countText(all) });
  return (
    <div aria-live="polite">
      <Facts
        of={[
          [
            TEXTS.layer.tiles,
            <span key="tiles" className="big">
              {count}
            </span>,
          ],
          [TEXTS.tasks.counterNames.present, tiles === all ? null : countText(all - tiles)],
          [WORDS.stale, stale === 0 ? null : countText(stale)],
          [TEXTS.tasks.counterNames.upstreamRequests, countText(data.upstreamRequests)],
          [WORDS.covered, data.coveredUse === null ? null : percentText(data.coveredUse)],
          [WORDS.bytes, addedBytes === null ? WORDS.bytesUnknown : sizeText(addedBytes)],
          [WORDS.seconds, seconds === null ? TEXTS.unknown : `≈ ${durationText(seconds)}`],
          [TEXTS.nav.quota, roomText(data)],
        ]}
      />
      {zooms.length > 1 && <TilesByZoom zooms={zooms} />}
      {estimateWarnings(data).map(([kind, text]) => (
        <p key={text} className={`notice ${kind}`}>
          {text}
        </p>
      ))}
    </div>
  );
}

function TilesByZoom({ zooms }: Pick<Remaining, 'zooms'>) {
  return (
    <details>
      <summary>{WORDS.byZoom}</summary>
      <Table
        label={WORDS.byZoom}
        className="snug"
        head={[TEXTS.inspect.zoom, WORDS.toDo, WORDS.ofAll]}
        numbers={2}
        rows={zooms.map(({ z, tiles, all }) => [z, z, countText(tiles), countText(all)])}
      />
    </details>
  );
}

type Range = NonNullable<Remaining['addedBytes']>;

/** `≈ 1.6 MiB`, or `1.6 MiB – 38.2 MiB` if too few tiles are cached for a good estimate. */
function rangeText(range: Range): string {
  const { least, most } = range;
  return isWide(range) ? `${bytesText(least)} – ${bytesText(most)}` : `≈ ${bytesText(most)}`;
}

function sizeText(range: Range): string {
  return isWide(range) ? fill(WORDS.fewSamples, { range: rangeText(range) }) : rangeText(range);
}

function isWide({ least, most }: Range): boolean {
  return most > least * WIDE_RANGE;
}

function roomText({ quota, addedBytes }: Remaining): string | null {
  if (quota === null) return TEXTS.overview.noQuota;
  if (addedBytes === null) return WORDS.bytesUnknown;
  const room = quota.limitBytes - quota.usedBytes;
  if (addedBytes.most <= room) return fill(WORDS.quotaFits, { left: bytesText(room - addedBytes.most) });
  const limit = bytesText(quota.limitBytes);
  return addedBytes.least > room ? fill(WORDS.quotaOf, { limit }) : fill(WORDS.quotaPerhaps, { limit });
}

/** Warnings: `bad` if the task cannot achieve its purpose. */
export function estimateWarnings(estimate: Remaining): readonly (readonly ['warn' | 'bad', string])[] {
  const { addedBytes, seconds, quota, disk } = estimate;
  const { least = 0, most = 0 } = addedBytes ?? {};
  const warnings: (readonly ['warn' | 'bad', string])[] = [];
  const needed = addedBytes && rangeText(addedBytes);
  if (needed !== null && quota && least > quota.limitBytes) {
    warnings.push(['bad', fill(WORDS.quotaTooSmall, { needed, limit: bytesText(quota.limitBytes) })]);
  } else if (quota && quota.usedBytes + most > quota.limitBytes) {
    warnings.push([
      'warn',
      fill(WORDS.quotaEvicts, { bytes: bytesText(quota.usedBytes + most - quota.limitBytes) }),
    ]);
  }
  if (needed !== null && disk && most > disk.freeBytes)
    warnings.push([
      least > disk.freeBytes ? 'bad' : 'warn',
      fill(WORDS.diskTooSmall, { free: bytesText(disk.freeBytes), needed }),
    ]);
  if (seconds !== null && seconds > VERY_LONG)
    warnings.push(['warn', fill(WORDS.tooLong, { time: durationText(seconds) })]);
  return warnings;
}
