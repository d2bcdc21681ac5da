import type { Answer } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { countText, timeText } from '../format.ts';
import { Bar, Card, Empty, Loaded, PageHead } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { BreakerBadge, type Upstream } from './upstream-parts.tsx';

const WORDS = TEXTS.upstreams;
const REFRESH_SECONDS = 10;

export default function Upstreams() {
  const hosts = useResource<Answer<'/api/v1/upstreams'>>('api/v1/upstreams', REFRESH_SECONDS);
  return (
    <>
      <PageHead title={WORDS.title} under={WORDS.help} />
      <Loaded resource={hosts}>
        {({ upstreams }) =>
          upstreams.length === 0 ? (
            <Empty>{WORDS.empty}</Empty>
          ) : (
            <div className="grid">
              {upstreams.map((host) => (
                <Host key={host.host} host={host} />
              ))}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function Host({ host }: { readonly host: Upstream }) {
  const { breaker, limits, latency, budget, waiting, errors } = host;
  const failures = Object.entries(errors).map(([kind, count]) => `${kind} ${countText(count)}`);
  return (
    <Card title={host.host} className="span-6" aside={<BreakerBadge breaker={breaker} />}>
      <div className="stack">
        <div>
          <Bar share={host.inFlight / Math.max(1, limits.concurrency)} label={WORDS.inFlight} />
          <span className="small quiet">
            {WORDS.atOnce(host.inFlight, host.concurrency, limits.concurrency)}
          </span>
        </div>
        <dl className="facts">
          <dt>{WORDS.requests}</dt>
          <dd>
            {countText(host.requests)} ({WORDS.rate(host.requestsPerSecond, limits.ratePerSecond)})
          </dd>
          <dt>{WORDS.latency}</dt>
          <dd>{latency ? WORDS.latencyText(latency.p50, latency.p95) : TEXTS.unknown}</dd>
          <dt>{WORDS.waiting}</dt>
          <dd>{WORDS.waitingText(waiting.interactive, waiting.task)}</dd>
          <dt>{WORDS.failures}</dt>
          <dd>{failures.length === 0 ? TEXTS.none : failures.join(', ')}</dd>
          {host.refused > 0 && (
            <>
              <dt>{WORDS.refused}</dt>
              <dd>{countText(host.refused)}</dd>
            </>
          )}
          {budget && (
            <>
              <dt>{WORDS.budget}</dt>
              <dd>{WORDS.budgetText(countText(budget.used), countText(budget.limit))}</dd>
            </>
          )}
          {limits.quietHours.length > 0 && (
            <>
              <dt>{WORDS.quietHours}</dt>
              <dd>
                {limits.quietHours.join(', ')} {limits.timeZone}
              </dd>
            </>
          )}
          {host.waitingUntil !== null && (
            <>
              <dt>{WORDS.leftAlone}</dt>
              <dd>
                {timeText(host.waitingUntil)}
                {host.waitingReason !== null && ` (${WORDS.reasons[host.waitingReason]})`}
              </dd>
            </>
          )}
        </dl>
      </div>
    </Card>
  );
}
