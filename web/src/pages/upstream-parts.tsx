import type { ApiResponse } from '../api/client.ts';
import { TEXTS } from '../texts.ts';

export type Upstream = ApiResponse<'GET /api/v1/upstreams'>['upstreams'][number];

const WORDS = TEXTS.upstreams;
const BADGES: Readonly<Record<Upstream['state'], string>> = {
  healthy: 'done',
  probing: 'paused',
  paused: 'paused',
  failing: 'failed',
};

export function kindText(kind: string): string {
  return kind.replace(/^status-/, 'HTTP ');
}

export function HealthBadge({ host: { state } }: { host: Upstream }) {
  return (
    <span>
      <span className={`badge ${BADGES[state]}`}>{WORDS.health[state]}</span>
    </span>
  );
}

export function failuresOf({ errors }: Upstream): number {
  return Object.values(errors).reduce((total, count) => total + count, 0);
}
