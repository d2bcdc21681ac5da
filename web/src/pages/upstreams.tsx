import type { Answer } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { countText, momentText } from '../format.ts';
import { Bar, Card, Empty, Fact, Loaded, PageHead } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import { HealthBadge, kindText, type Upstream } from './upstream-parts.tsx';

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
  const { limits, latency, budget, waiting, errors, waitingUntil, waitingReason } = host;
  const failures = Object.entries(errors).map(([kind, count]) => `${kindText(kind)}: ${countText(count)}`);
  const reason = waitingReason && WORDS.reasons[waitingReason];
  return (
    <Card title={host.host} className="span-6" aside={<HealthBadge host={host} />}>
      <div className="stack">
        <div>
          <Bar share={host.inFlight / Math.max(1, limits.concurrency)} label={WORDS.inFlight} />
          <span className="small quiet">
            {WORDS.atOnce(host.inFlight, host.concurrency, limits.concurrency)}
          </span>
        </div>
        <dl className="facts">
          <Fact label={WORDS.pausedUntil}>
            {waitingUntil && `${momentText(waitingUntil)}${reason ? ` (${reason})` : ''}`}
          </Fact>
          <Fact label={WORDS.requests}>
            {countText(host.requests)} ({WORDS.rate(host.requestsPerSecond, limits.ratePerSecond)})
          </Fact>
          <Fact label={WORDS.latency}>
            {latency ? WORDS.latencyText(latency.p50, latency.p95) : TEXTS.unknown}
          </Fact>
          <Fact label={WORDS.waiting}>{WORDS.waitingText(waiting.interactive, waiting.task)}</Fact>
          <Fact label={WORDS.failures}>{failures.length === 0 ? TEXTS.none : failures.join(', ')}</Fact>
          <Fact label={WORDS.refused}>{host.refused > 0 ? countText(host.refused) : null}</Fact>
          <Fact label={WORDS.budget}>
            {budget && WORDS.budgetText(countText(budget.used), countText(budget.limit))}
          </Fact>
          <Fact label={WORDS.quietHours}>
            {limits.quietHours.length > 0 ? `${limits.quietHours.join(', ')} ${limits.timeZone}` : null}
          </Fact>
        </dl>
      </div>
    </Card>
  );
}
