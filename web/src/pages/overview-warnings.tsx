import type { Answer } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { bytesText, momentText, percentText, withLocalTimes } from '../format.ts';
import { Card } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { FAILED_LATELY } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import type { Upstream } from './upstream-parts.tsx';

const WORDS = TEXTS.overview;
const MINUTES = 60;
const FEED_SECONDS = 30;
const MANY_FAILED = 0.02;

/** What is wrong, what to do about it, and where. */
type Warning = readonly [text: string, todo: string, address: string];

/** Problems that need an action, each with a link to its page. Null: not loaded yet. */
export function Warnings(props: {
  usage: Answer<'/api/v1/usage'> | null;
  series: Answer<'/api/v1/series'> | null;
  hosts: Answer<'/api/v1/upstreams'> | null;
  failedTasks: number;
}) {
  const me = useResource<Answer<'/api/v1/me'>>('api/v1/me');
  const schedules = useResource<Answer<'/api/v1/schedules'>>('api/v1/schedules');
  const feeds = useResource<Answer<'/api/v1/changes'>>('api/v1/changes', FEED_SECONDS);
  if (!props.usage) return null;
  const warnings = [
    ...diskWarnings(props.usage),
    ...quotaWarnings(props.usage),
    ...taskWarnings(props.failedTasks),
    ...upstreamWarnings(props.hosts?.upstreams ?? []),
    ...feedWarnings(feeds.data?.changes ?? []),
    ...scheduleWarnings(schedules.data?.schedules ?? []),
    ...(props.series ? failureWarnings(props.series) : []),
    ...(me.data?.passwordIsInitial
      ? [[WORDS.warnPassword, WORDS.warnPasswordDo, addressOf('accounts')] as const]
      : []),
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
function diskWarnings({ disks }: Answer<'/api/v1/usage'>): readonly Warning[] {
  const full = disks.filter(({ storing }) => !storing);
  return full.map(({ store, freeBytes, freePercent, minFreePercent }) => {
    const text = WORDS.warnDisk(store, freePercent, bytesText(freeBytes), minFreePercent);
    return [text, WORDS.warnDiskDo, addressOf('quota')];
  });
}

/** A cache that works at its quota is as it should be. */
function quotaWarnings({ quota }: Answer<'/api/v1/usage'>): readonly Warning[] {
  return quota.enabled ? [] : [[WORDS.warnNoQuota, WORDS.warnNoQuotaDo, addressOf('quota')]];
}

function taskWarnings(failed: number): readonly Warning[] {
  if (failed === 0) return [];
  const { state, days } = FAILED_LATELY;
  return [[WORDS.warnFailed(failed), WORDS.warnFailedDo, addressOf('tasks', '', { state, days })]];
}

/** Upstreams in quiet hours or without budget are not a problem. */
function upstreamWarnings(hosts: readonly Upstream[]): readonly Warning[] {
  const failing = hosts.filter(({ state }) => /failing|probing/.test(state));
  return failing.map(({ host, lastFailure, waitingUntil }) => {
    const text = WORDS.warnUpstream(
      host,
      lastFailure?.text ?? null,
      waitingUntil && momentText(waitingUntil),
    );
    return [text, WORDS.warnUpstreamDo, addressOf('upstreams')];
  });
}

function feedWarnings(feeds: Answer<'/api/v1/changes'>['changes']): readonly Warning[] {
  const failing = feeds.filter(({ state }) => state === 'failing');
  return failing.map(({ name, lastError }) => [
    WORDS.warnFeed(name, lastError && withLocalTimes(lastError)),
    WORDS.warnFeedDo,
    addressOf('changes'),
  ]);
}

function scheduleWarnings(schedules: Answer<'/api/v1/schedules'>['schedules']): readonly Warning[] {
  const failed = schedules.filter(({ lastRun }) => lastRun?.state === 'failed');
  return failed.map(({ id, name }) => [
    WORDS.warnSchedule(name),
    WORDS.warnScheduleDo,
    addressOf('schedules', String(id)),
  ]);
}

function failureWarnings(series: Answer<'/api/v1/series'>): readonly Warning[] {
  const lately = (values: readonly number[]) =>
    values.slice(-MINUTES).reduce((total, value) => total + value, 0);
  const failed = lately(series.failed);
  const share = failed / Math.max(1, failed + lately(series.hits) + lately(series.misses));
  if (share < MANY_FAILED) return [];
  return [[WORDS.warnMisses(percentText(share)), WORDS.warnUpstreamDo, addressOf('upstreams')]];
}
