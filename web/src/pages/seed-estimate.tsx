import { useEffect, useState } from 'react';
import { type Answer, type Problem, problemFrom, send } from '../api/client.ts';
import { type Resource, useResource } from '../api/use-resource.ts';
import { bytesText, countText, durationText } from '../format.ts';
import { ProblemNotice } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { type Plan, requestOf } from './seed-plan.ts';

type Usage = Answer<'/api/v1/usage'>;

export interface EstimateAnswer {
  readonly tiles: number;
  readonly upstreamRequests: number;
  readonly bytes: number | null;
  readonly seconds: number | null;
}

const WORDS = TEXTS.seed;
const WAIT_MS = 250;

/** What the server says the plan would be, a moment after it was changed last. */
export function useEstimate(plan: Plan): Resource<EstimateAnswer> {
  const [data, setData] = useState<EstimateAnswer | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  useEffect(() => {
    let current = true;
    setData(null);
    const timer = setTimeout(() => {
      send<EstimateAnswer>('POST', 'api/v1/tasks', { ...requestOf(plan), dryRun: true }).then(
        (answer) => {
          if (!current) return;
          setData(answer);
          setProblem(null);
        },
        (error: unknown) => current && setProblem(problemFrom(error)),
      );
    }, WAIT_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [plan]);
  return { data, problem, reload: () => undefined };
}

export function Estimate({
  resource,
  plan,
}: {
  readonly resource: Resource<EstimateAnswer>;
  readonly plan: Plan;
}) {
  const usage = useResource<Usage>('api/v1/usage');
  const { data, problem } = resource;
  if (problem) return <ProblemNotice problem={problem} />;
  const seeds = plan.type !== 'truncate';
  return (
    <dl className="facts" aria-live="polite">
      <dt>{WORDS.tiles}</dt>
      <dd className="big">{data ? countText(data.tiles) : WORDS.estimating}</dd>
      {seeds && data && (
        <>
          <dt>{WORDS.upstream}</dt>
          <dd>{countText(data.upstreamRequests)}</dd>
          <dt>{WORDS.bytes}</dt>
          <dd>{data.bytes === null ? WORDS.bytesUnknown : `≈ ${bytesText(data.bytes)}`}</dd>
        </>
      )}
      {data && (
        <>
          <dt>{WORDS.seconds}</dt>
          <dd>{data.seconds === null ? TEXTS.unknown : `≈ ${durationText(data.seconds)}`}</dd>
        </>
      )}
      {seeds && data && usage.data && (
        <>
          <dt>{WORDS.quota}</dt>
          <dd>{quotaText(data, usage.data)}</dd>
        </>
      )}
    </dl>
  );
}

function quotaText({ bytes }: EstimateAnswer, usage: Usage): string {
  if (!usage.quota.enabled) return WORDS.quotaOff;
  if (bytes === null) return WORDS.bytesUnknown;
  const left = usage.quota.globalQuota.bytes - usage.bytes - bytes;
  return left >= 0 ? WORDS.quotaFits(bytesText(left)) : WORDS.quotaEvicts(bytesText(-left));
}
