import { type Answer, part, type Reply } from '../api/client.ts';
import { type Resource, useResource } from '../api/use-resource.ts';
import { bytesText, countText, durationText } from '../format.ts';
import { Facts, ProblemNotice } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import type { TaskRequest } from './seed-plan.ts';

type Usage = Answer<'/api/v1/usage'>;
type Zooms = Answer<'/api/v1/layers/{layer}/coverage/{gridSet}'>;

type EstimateAnswer = Pick<
  Extract<Reply<'POST /api/v1/tasks'>, { metatiles: number }>,
  'tiles' | 'upstreamRequests' | 'bytes' | 'seconds'
>;
/** What is left to do, of what the request names. */
type Remaining = EstimateAnswer & { readonly all: number };

const WORDS = TEXTS.seed;

/**
 * What so many tasks like the request would come to; seeding leaves out what is cached, of many that is not known.
 * Null data while it is not known.
 */
export function useEstimate(request: TaskRequest | null, tasks: number): Resource<Remaining> {
  const answer = useResource<EstimateAnswer>(request && 'api/v1/tasks', null, { ...request, dryRun: true });
  const cached = useResource<Zooms>(request && tasks === 1 ? coveragePath(request) : null);
  const data = answer.data && request && remaining(times(answer.data, tasks), request, cached.data);
  return { ...answer, data };
}

function times({ tiles, upstreamRequests, bytes, seconds }: EstimateAnswer, count: number): EstimateAnswer {
  return {
    tiles: tiles * count,
    upstreamRequests: upstreamRequests * count,
    bytes: bytes && bytes * count,
    seconds: seconds && seconds * count,
  };
}

/** A polygon is counted in full: how much of it is cached is not known. */
function coveragePath(request: TaskRequest): string | null {
  const { layer, type, gridSet, format, parameters, bounds, area } = request;
  if (type !== 'seed' || area) return null;
  const query = new URLSearchParams({ format, ...parameters, ...(bounds && { bounds: bounds.join(',') }) });
  return `api/v1/layers/${part(layer)}/coverage/${part(gridSet)}?${query}`;
}

function remaining(
  answer: EstimateAnswer,
  { zoomStart, zoomStop }: TaskRequest,
  cached: Zooms | null,
): Remaining {
  const zooms = cached?.zooms.filter(({ z }) => z >= zoomStart && z <= zoomStop) ?? [];
  const present = zooms.reduce((total, { tiles }) => total + tiles, 0);
  const tiles = Math.max(0, answer.tiles - present);
  const share = answer.tiles === 0 ? 0 : tiles / answer.tiles;
  const of = (value: number | null) => (value === null ? null : Math.ceil(value * share));
  const upstreamRequests = Math.ceil(answer.upstreamRequests * share);
  return { all: answer.tiles, tiles, upstreamRequests, bytes: of(answer.bytes), seconds: of(answer.seconds) };
}

export function Estimate(props: { resource: Resource<Remaining>; truncates: boolean }) {
  const usage = useResource<Usage>('api/v1/usage');
  const { data, problem } = props.resource;
  if (problem) return <ProblemNotice problem={problem} />;
  if (!data) return <p className="quiet">{WORDS.estimating}</p>;
  const { tiles, all, bytes, seconds } = data;
  const seeds = !props.truncates;
  const wanted = tiles === all ? countText(all) : TEXTS.outOf(countText(tiles), countText(all));
  return (
    <div aria-live="polite">
      <Facts
        of={[
          [
            TEXTS.layer.tiles,
            <span key="tiles" className="big">
              {wanted}
            </span>,
          ],
          [TEXTS.tasks.counterNames.present, tiles === all ? null : countText(all - tiles)],
          [TEXTS.tasks.counterNames.upstreamRequests, seeds ? countText(data.upstreamRequests) : null],
          [WORDS.bytes, seeds ? about(bytes, bytesText, WORDS.bytesUnknown) : null],
          [WORDS.seconds, about(seconds, durationText, TEXTS.unknown)],
          [TEXTS.nav.quota, seeds && usage.data ? quotaText(bytes, usage.data) : null],
        ]}
      />
    </div>
  );
}

function about(value: number | null, text: (value: number) => string, unknown: string): string {
  return value === null ? unknown : `≈ ${text(value)}`;
}

function quotaText(bytes: number | null, usage: Usage): string {
  if (!usage.quota.enabled) return TEXTS.overview.noQuota;
  if (bytes === null) return WORDS.bytesUnknown;
  const left = usage.quota.globalQuota.bytes - usage.bytes - bytes;
  return left >= 0 ? WORDS.quotaFits(bytesText(left)) : WORDS.quotaEvicts(bytesText(-left));
}
