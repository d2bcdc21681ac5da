import type { Answer } from '../api/client.ts';
import { TEXTS } from '../texts.ts';

export type Upstream = Answer<'/api/v1/upstreams'>['upstreams'][number];

const BADGES = { closed: 'done', 'half-open': 'paused', open: 'failed' } as const;

export function BreakerBadge({ breaker }: Pick<Upstream, 'breaker'>) {
  return (
    <span>
      <span className={`badge ${BADGES[breaker]}`}>{TEXTS.upstreams.breaker[breaker]}</span>
    </span>
  );
}

export function failuresOf({ errors }: Upstream): number {
  return Object.values(errors).reduce((total, count) => total + count, 0);
}
