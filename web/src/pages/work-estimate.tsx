import { type ApiResponse, part } from '../api/client.ts';
import { type Resource, useResource } from '../api/use-resource.ts';
import { bytesText, countText, durationText, percentText } from '../format.ts';
import { Facts, ProblemNotice } from '../parts/basics.tsx';
import type { TaskRequest } from '../task-request.ts';
import { TEXTS } from '../texts.ts';
import { selectionOf } from './work-plan.ts';

type EstimateResponse = Extract<ApiResponse<'POST /api/v1/tasks'>, { metatiles: number }>;
type Cached = Pick<ApiResponse<'POST /api/v1/layers/{layer}/truncate'>, 'tiles' | 'bytes'>;

/** Work that remains for a request. */
type Remaining = Pick<
  EstimateResponse,
  'tiles' | 'upstreamRequests' | 'bytes' | 'seconds' | 'quota' | 'disk' | 'coveredUse'
> & {
  readonly all: number;
};

const WORDS = TEXTS.seed;
/** Seconds. */
const VERY_LONG = 30 * 86_400;

/** The work of so many tasks like the request; seeding skips cached tiles. */
export function useEstimate(request: TaskRequest | null, tasks: number) {
  const response = useResource<EstimateResponse>(request && 'api/v1/tasks', null, {
    ...request,
    dryRun: true,
  });
  const data = response.data && request && remaining(response.data, request.type === 'seed', tasks);
  return { data, problem: response.problem };
}

function remaining(response: EstimateResponse, skipsCached: boolean, tasks: number): Remaining {
  const { tiles, cachedTiles, quota, disk, coveredUse } = response;
  const share = skipsCached && tiles > 0 ? Math.max(0, 1 - cachedTiles / tiles) : 1;
  const of = (value: number) => Math.ceil(value * share * tasks);
  return {
    all: tiles * tasks,
    tiles: of(tiles),
    upstreamRequests: of(response.upstreamRequests),
    bytes: response.bytes === null ? null : of(response.bytes),
    seconds: response.seconds === null ? null : of(response.seconds),
    quota,
    disk,
    coveredUse,
  };
}

/** The cached tiles that a truncation deletes, or an export copies: `every` counts all formats and parameter values. */
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
          [WORDS.cached, <Big key="tiles" text={countText(data.tiles)} />],
          [WORDS.bytes, bytesText(data.bytes)],
        ]}
      />
    </div>
  );
}

function Big({ text }: { text: string }) {
  return <span className="big">{text}</span>;
}

export function Estimate({ resource: { data, problem } }: { resource: ReturnType<typeof useEstimate> }) {
  if (problem) return <ProblemNotice problem={problem} />;
  if (!data) return <p className="quiet">{WORDS.estimating}</p>;
  const { tiles, all, bytes, seconds } = data;
  const count = tiles === all ? countText(all) : TEXTS.outOf(countText(tiles), countText(all));
  return (
    <div aria-live="polite">
      <Facts
        of={[
          [TEXTS.layer.tiles, <Big key="tiles" text={count} />],
          [TEXTS.tasks.counterNames.present, tiles === all ? null : countText(all - tiles)],
          [TEXTS.tasks.counterNames.upstreamRequests, countText(data.upstreamRequests)],
          [WORDS.covered, data.coveredUse === null ? null : percentText(data.coveredUse)],
          [WORDS.bytes, about(bytes, bytesText, WORDS.bytesUnknown)],
          [WORDS.seconds, about(seconds, durationText, TEXTS.unknown)],
          [TEXTS.nav.quota, roomText(data)],
        ]}
      />
      {estimateWarnings(data).map(([kind, text]) => (
        <p key={text} className={`notice ${kind}`}>
          {text}
        </p>
      ))}
    </div>
  );
}

function about(value: number | null, text: (value: number) => string, unknown: string): string {
  return value === null ? unknown : `≈ ${text(value)}`;
}

function roomText({ quota, bytes }: Remaining): string | null {
  if (quota === null) return TEXTS.overview.noQuota;
  if (bytes === null) return WORDS.bytesUnknown;
  const left = quota.limitBytes - quota.usedBytes - bytes;
  return left >= 0 ? WORDS.quotaFits(bytesText(left)) : WORDS.quotaOf(bytesText(quota.limitBytes));
}

/** Amber, or red where the task defeats itself. */
export function estimateWarnings(estimate: Remaining): readonly (readonly ['warn' | 'bad', string])[] {
  const { bytes, seconds, quota, disk } = estimate;
  const warnings: (readonly ['warn' | 'bad', string])[] = [];
  if (bytes !== null && quota && bytes > quota.limitBytes) {
    warnings.push(['bad', WORDS.quotaTooSmall(countText(Math.ceil(bytes / Math.max(1, quota.limitBytes))))]);
  } else if (bytes !== null && quota && quota.usedBytes + bytes > quota.limitBytes) {
    warnings.push(['warn', WORDS.quotaEvicts(bytesText(quota.usedBytes + bytes - quota.limitBytes))]);
  }
  if (bytes !== null && disk && bytes > disk.freeBytes)
    warnings.push(['bad', WORDS.diskTooSmall(bytesText(disk.freeBytes), bytesText(bytes))]);
  if (seconds !== null && seconds > VERY_LONG) warnings.push(['warn', WORDS.tooLong(durationText(seconds))]);
  return warnings;
}
