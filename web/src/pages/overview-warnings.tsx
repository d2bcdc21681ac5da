import type { ApiResponse } from '../api/client.ts';
import { useApi } from '../api/use-resource.ts';
import { bytesText, fill, momentText, percentText, withLocalTimes } from '../format.ts';
import { Card } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { FAILED_LATELY } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import type { Upstream } from './upstream-parts.tsx';

const WORDS = TEXTS.overview;
const MINUTES = 60;
const FEED_SECONDS = 30;
const MANY_FAILED = 0.02;

type Usage = ApiResponse<'GET /api/v1/usage'>;
type Series = ApiResponse<'GET /api/v1/series'>;
type Feeds = ApiResponse<'GET /api/v1/changes'>;
type Schedules = ApiResponse<'GET /api/v1/schedules'>;
type Warning = readonly [text: string, todo: string, address: string];

/** Problems that need an action, each with a link to its page. Null: not loaded yet. */
export function Warnings(props: {
  usage: Usage | null;
  series: Series | null;
  hosts: ApiResponse<'GET /api/v1/upstreams'> | null;
  failedTasks: number;
}) {
  const { usage, series, hosts, failedTasks } = props;
  const me = useApi('/api/v1/me');
  const schedules = useApi('/api/v1/schedules');
  const feeds = useApi('/api/v1/changes', FEED_SECONDS);
  if (!usage) return null;
  const { state, days } = FAILED_LATELY;
  const share = series ? failedShare(series) : 0;
  const [tasks, upstreams] = [addressOf('tasks', '', { state, days }), addressOf('upstreams')];
  const warnings: readonly Warning[] = [
    ...diskWarnings(usage),
    // A cache at its quota is normal.
    ...warnIf(!usage.quota.enabled, WORDS.warnNoQuota, WORDS.warnNoQuotaDo, addressOf('quota')),
    ...warnIf(failedTasks > 0, fill(WORDS.warnFailed, { count: failedTasks }), WORDS.warnFailedDo, tasks),
    ...upstreamWarnings(hosts?.upstreams ?? []),
    ...feedWarnings(feeds.data?.changes ?? []),
    ...scheduleWarnings(schedules.data?.schedules ?? []),
    ...warnIf(
      share >= MANY_FAILED,
      fill(WORDS.warnMisses, { share: percentText(share) }),
      WORDS.warnUpstreamDo,
      upstreams,
    ),
    ...warnIf(
      me.data?.passwordIsInitial === true,
      WORDS.warnPassword,
      WORDS.warnPasswordDo,
      addressOf('accounts'),
    ),
  ];
  if (warnings.length === 0) return null;
  return (
    <Card title={WORDS.warnings}>
      {warnings.map(([text, todo, address]) => (
        <p key={text} className="notice warn">
          <span>{text}</span>
          <a href={address}>{todo}</a>
        </p>
      ))}
    </Card>
  );
}

/** A store stops storing before its disk is full to the last byte. */
function diskWarnings({ disks }: Usage): readonly Warning[] {
  const full = disks.filter(({ storing }) => !storing);
  return full.map(({ store, freeBytes, freePercent, minFreePercent }) => {
    const text = fill(WORDS.warnDisk, {
      store,
      percent: freePercent,
      bytes: bytesText(freeBytes),
      least: minFreePercent,
    });
    return [text, WORDS.warnDiskDo, addressOf('quota')];
  });
}

/** Upstreams in quiet hours or without budget are not a problem. */
function upstreamWarnings(hosts: readonly Upstream[]): readonly Warning[] {
  const failing = hosts.filter(({ state }) => /failing|probing/.test(state));
  return failing.map(({ host, lastFailure, waitingUntil }) => {
    const pause = waitingUntil ? fill(WORDS.warnUpstreamPaused, { until: momentText(waitingUntil) }) : '';
    const text =
      `${fill(WORDS.warnUpstream, { host, reason: lastFailure?.text ?? TEXTS.unknown })} ${pause}`.trim();
    return [text, WORDS.warnUpstreamDo, addressOf('upstreams')];
  });
}

function feedWarnings(feeds: Feeds['changes']): readonly Warning[] {
  const failing = feeds.filter(({ state }) => state === 'failing');
  return failing.map(({ name, lastError }) => {
    const text = fill(WORDS.warnFeed, { name, reason: withLocalTimes(lastError ?? TEXTS.unknown) });
    return [text, WORDS.warnFeedDo, addressOf('changes')];
  });
}

function scheduleWarnings(schedules: Schedules['schedules']): readonly Warning[] {
  const failed = schedules.filter(({ lastRun }) => lastRun?.state === 'failed');
  return failed.map(({ id, name }) => {
    return [fill(WORDS.warnSchedule, { name }), WORDS.warnScheduleDo, addressOf('schedules', String(id))];
  });
}

function warnIf(condition: boolean, ...warning: Warning): readonly Warning[] {
  return condition ? [warning] : [];
}

/** Of the requests of the last hour. */
function failedShare(series: Series): number {
  const lately = (values: readonly number[]) =>
    values.slice(-MINUTES).reduce((total, value) => total + value, 0);
  const failed = lately(series.failed);
  return failed / Math.max(1, failed + lately(series.hits) + lately(series.misses));
}
