import type { Answer } from '../api/client.ts';
import { TEXTS } from '../texts.ts';

/** An older server does not say how the host is. */
export type Upstream = Answer<'/api/v1/upstreams'>['upstreams'][number] & {
  readonly state?: Health;
  readonly lastFailure?: { readonly text: string } | null;
};
type Health = keyof typeof TEXTS.upstreams.health;

const WORDS = TEXTS.upstreams;
const BADGES: Readonly<Record<Health, string>> = {
  healthy: 'done',
  probing: 'paused',
  paused: 'paused',
  failing: 'failed',
};

export function healthOf({ state, breaker, waitingUntil, waitingReason }: Upstream): Health {
  if (state) return state;
  if (breaker === 'half-open') return 'probing';
  if (breaker === 'open' || waitingReason === 'failing') return 'failing';
  return waitingUntil === null ? 'healthy' : 'paused';
}

/** How it fails, e.g. `HTTP 503` or `timeout`. */
export function failureText({ errors, lastFailure }: Upstream): string | null {
  if (lastFailure) return lastFailure.text;
  const [most] = Object.entries(errors).sort(([, a], [, b]) => b - a);
  return most ? kindText(most[0]) : null;
}

export function kindText(kind: string): string {
  return kind.replace(/^status-/, 'HTTP ');
}

export function HealthBadge({ host }: { readonly host: Upstream }) {
  const health = healthOf(host);
  return (
    <span>
      <span className={`badge ${BADGES[health]}`}>{WORDS.health[health]}</span>
    </span>
  );
}

export function failuresOf({ errors }: Upstream): number {
  return Object.values(errors).reduce((total, count) => total + count, 0);
}
