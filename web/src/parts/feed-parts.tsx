import type { ReactNode } from 'react';
import { withLocalTimes } from '../format.ts';
import { TEXTS } from '../texts.ts';

const FEED_STATES = {
  ok: <span className="badge done">{TEXTS.upstreams.health.healthy}</span>,
  failing: <span className="badge failed">{TEXTS.upstreams.health.failing}</span>,
};

/** With the reason while it fails. */
export function State({ of }: { of: { state: keyof typeof FEED_STATES; lastError: string | null } }) {
  return (
    <>
      {FEED_STATES[of.state]}
      {of.lastError !== null && <span className="small quiet block">{withLocalTimes(of.lastError)}</span>}
    </>
  );
}

export function Named({ name, kind }: { name: ReactNode; kind: string }) {
  return (
    <span>
      {name}
      <span className="small quiet block">{kind}</span>
    </span>
  );
}
