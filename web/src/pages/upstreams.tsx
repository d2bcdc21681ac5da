import { type ApiResponse, curl, part, send } from '../api/client.ts';
import { useAction, useApi } from '../api/use-resource.ts';
import { agoText, countText, fill, labelled, momentText, rateText, timeText } from '../format.ts';
import { ActionNotices, Bar, Button, Card, Facts, Loaded, PageHead } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { failureName, LayerLinks } from '../parts/task-parts.tsx';
import { may, mayWorkOn, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

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
              <Host key={host.host} host={host} onChanged={hosts.reload} />
            ))}
          </div>
        )}
      </Loaded>
    </>
  );
}

function Host({ host, onChanged }: { host: Upstream; onChanged: () => void }) {
  const { limits, latency, budget, waiting, errors, waitingReason, pausedBy, pausedAt } = host;
  const waitingUntil = waitingReason === 'paused' ? null : host.waitingUntil;
  const failures = Object.entries(errors).map(([kind, count]) =>
    labelled(failureName(kind), countText(count)),
  );
  const reason = waitingReason && WORDS.reasons[waitingReason];
  const most = limits.ratePerSecond;
  const now = rateText(host.requestsPerSecond);
  const rate = `${most === null ? now : fill(TEXTS.outOf, { some: now, all: rateText(most) })}/s`;
  const quiet = limits.quietHours;
  return (
    <Card title={host.host} className="span-6" aside={<HealthBadge host={host} />}>
      <div className="stack">
        <div>
          <Bar share={host.inFlight / Math.max(1, limits.concurrency)} label={WORDS.inFlight} />
          <span className="small quiet">
            {fill(WORDS.concurrency, {
              now: host.inFlight,
              limit: host.concurrency,
              most: limits.concurrency,
            })}
          </span>
        </div>
        <HostButtons host={host} onChanged={onChanged} />
        <Facts
          of={[
            [
              WORDS.pausedBy,
              pausedBy && fill(WORDS.pausedByText, { who: pausedBy, time: timeText(pausedAt ?? '') }),
            ],
            [WORDS.pausedUntil, waitingUntil && `${momentText(waitingUntil)}${reason ? ` (${reason})` : ''}`],
            [TEXTS.overview.requests, `${countText(host.requests)} (${rate})`],
            [
              WORDS.latency,
              latency
                ? fill(WORDS.latencyText, { median: countText(latency.p50), p95: countText(latency.p95) })
                : TEXTS.unknown,
            ],
            [WORDS.waiting, fill(WORDS.waitingText, { people: waiting.interactive, tasks: waiting.task })],
            [TEXTS.tasks.failures, failures.join(', ') || TEXTS.none],
            [WORDS.failingSince, host.failingSince && timeText(host.failingSince)],
            [
              WORDS.lastFailure,
              host.lastFailure && `${failureName(host.lastFailure.reason)} (${agoText(host.lastFailure.at)})`,
            ],
            [WORDS.lastError, host.lastError && errorText(host.lastError)],
            [WORDS.layers, <LayerLinks key="layers" names={host.layers} />],
            [WORDS.refused, host.refused > 0 ? countText(host.refused) : null],
            [
              WORDS.budget,
              budget && fill(TEXTS.outOf, { some: countText(budget.used), all: countText(budget.limit) }),
            ],
            [WORDS.quietHours, quiet.length > 0 ? `${quiet.join(', ')} ${limits.timeZone}` : null],
          ]}
        />
      </div>
    </Card>
  );
}

function errorText({ at, layer, message, upstream }: NonNullable<Upstream['lastError']>): string {
  return labelled(layer, `${upstream?.text || message} (${agoText(at)})`);
}

/** Buttons for a host, if the user may work on all layers that share it. */
function HostButtons({ host, onChanged }: { host: Upstream; onChanged: () => void }) {
  const caller = useCaller();
  const action = useAction();
  if (!may(caller, 'operator') || !host.layers.every((layer) => mayWorkOn(caller, layer))) return null;
  const path = (verb: string) => `api/v1/upstreams/${part(host.host)}/${verb}`;
  const act = async (verb: 'pause' | 'resume' | 'try', text: (after: Upstream) => string) => {
    const after = await send<Upstream>('POST', path(verb));
    onChanged();
    return text(after);
  };
  const label = (text: string) => labelled(text, host.host);
  const { pause, resume, tryNow } = WORDS;
  const button = (text: string, work: () => Promise<string>) => (
    <Button aria-label={label(text)} disabled={action.busy} onClick={() => action.run(work)}>
      {text}
    </Button>
  );
  return (
    <>
      <div className="row tight">
        {host.pausedBy !== null && button(resume, () => act('resume', () => WORDS.resumed))}
        {host.pausedBy === null && (
          <ConfirmButton
            action={action}
            kind=""
            label={label(pause)}
            title={fill(WORDS.pauseTitle, { host: host.host })}
            verb={pause}
            text={WORDS.pauseText}
            command={curl('POST', path('pause'))}
            onConfirm={() => act('pause', () => WORDS.paused)}
          />
        )}
        {isTriable(host) && button(tryNow, () => act('try', triedText))}
      </div>
      <ActionNotices action={action} />
    </>
  );
}

/** Whether a user can end the wait: after failures or a Retry-After, but not quiet hours or a used-up budget. */
function isTriable({ waitingReason, state }: Upstream): boolean {
  return waitingReason === 'failing' || waitingReason === 'retry-after' || state === 'failing';
}

function triedText({ state, lastFailure }: Upstream): string {
  if (state === 'healthy') return WORDS.answered;
  return lastFailure ? fill(WORDS.stillFailing, { how: failureName(lastFailure.reason) }) : WORDS.notTried;
}

type Upstream = ApiResponse<'GET /api/v1/upstreams'>['upstreams'][number];

const BADGES: Readonly<Record<Upstream['state'], string>> = {
  healthy: 'done',
  probing: 'paused',
  paused: 'paused',
  failing: 'failed',
};

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
