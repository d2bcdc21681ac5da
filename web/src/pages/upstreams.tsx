import { useApi } from '../api/use-resource.ts';
import { agoText, countText, momentText, rateText, timeText } from '../format.ts';
import { Bar, Card, Facts, Loaded, PageHead } from '../parts/basics.tsx';
import { LayerLinks } from '../parts/task-parts.tsx';
import { TEXTS } from '../texts.ts';
import { HealthBadge, kindText, type Upstream } from './upstream-parts.tsx';

const WORDS = TEXTS.upstreams;
const REFRESH_SECONDS = 10;

export default function Upstreams() {
  const hosts = useApi('/api/v1/upstreams', REFRESH_SECONDS);
  return (
    <>
      <PageHead title={TEXTS.nav.upstreams} under={WORDS.help} />
      <Loaded resource={hosts} empty={({ upstreams }) => upstreams.length === 0 && WORDS.empty}>
        {({ upstreams }) => (
          <div className="grid">
            {upstreams.map((host) => (
              <Host key={host.host} host={host} />
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

function Host({ host }: { host: Upstream }) {
  const { limits, latency, budget, waiting, errors, waitingUntil, waitingReason } = host;
  const failures = Object.entries(errors).map(([kind, count]) =>
    TEXTS.labelled(kindText(kind), countText(count)),
  );
  const reason = waitingReason && WORDS.reasons[waitingReason];
  const most = limits.ratePerSecond;
  const rate = WORDS.rate(rateText(host.requestsPerSecond), most === null ? null : rateText(most));
  const quiet = limits.quietHours;
  return (
    <Card title={host.host} className="span-6" aside={<HealthBadge host={host} />}>
      <div className="stack">
        <div>
          <Bar share={host.inFlight / Math.max(1, limits.concurrency)} label={WORDS.inFlight} />
          <span className="small quiet">
            {WORDS.concurrency(host.inFlight, host.concurrency, limits.concurrency)}
          </span>
        </div>
        <Facts
          of={[
            [WORDS.pausedUntil, waitingUntil && `${momentText(waitingUntil)}${reason ? ` (${reason})` : ''}`],
            [TEXTS.overview.requests, `${countText(host.requests)} (${rate})`],
            [
              WORDS.latency,
              latency ? WORDS.latencyText(countText(latency.p50), countText(latency.p95)) : TEXTS.unknown,
            ],
            [WORDS.waiting, WORDS.waitingText(waiting.interactive, waiting.task)],
            [TEXTS.tasks.failures, failures.join(', ') || TEXTS.none],
            [WORDS.failingSince, host.failingSince && timeText(host.failingSince)],
            [
              WORDS.lastFailure,
              host.lastFailure && `${host.lastFailure.text} (${agoText(host.lastFailure.at)})`,
            ],
            [WORDS.lastError, host.lastError && errorText(host.lastError)],
            [WORDS.layers, <LayerLinks key="layers" names={host.layers} />],
            [WORDS.refused, host.refused > 0 ? countText(host.refused) : null],
            [WORDS.budget, budget && TEXTS.outOf(countText(budget.used), countText(budget.limit))],
            [WORDS.quietHours, quiet.length > 0 ? `${quiet.join(', ')} ${limits.timeZone}` : null],
          ]}
        />
      </div>
    </Card>
  );
}

function errorText({ at, layer, message, upstream }: NonNullable<Upstream['lastError']>): string {
  return TEXTS.labelled(layer, `${upstream?.text || message} (${agoText(at)})`);
}
