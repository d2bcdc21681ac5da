import { useMemo, useState } from 'react';
import type { ApiResponse } from '../api/client.ts';
import { useTaskChanges } from '../api/task-feed.ts';
import { useApi, useResource } from '../api/use-resource.ts';
import {
  bytesText,
  countText,
  durationText,
  fill,
  momentText,
  percentText,
  sinceText,
  withLocalTimes,
} from '../format.ts';
import { Bar, Button, Card, Empty, Form, Input, Loaded, PageHead } from '../parts/basics.tsx';
import { Gauge, Plot } from '../parts/plots.tsx';
import { failureName, NoTasks, TaskLine, useAreaTexts, useHostFailures } from '../parts/task-parts.tsx';
import { addressOf, goWith } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { conditionsOf, FAILED_LATELY, isOver, searchOf, withTaskChanges } from '../task-filter.ts';
import { TEXTS } from '../texts.ts';
import { failuresOf, HealthBadge } from './upstreams.tsx';

type Tasks = ApiResponse<'GET /api/v1/tasks'>;
type Usage = ApiResponse<'GET /api/v1/usage'>;
type Upstreams = ApiResponse<'GET /api/v1/upstreams'>;
type Series = ApiResponse<'GET /api/v1/series'>;
type Feeds = ApiResponse<'GET /api/v1/changes'>;
type Schedules = ApiResponse<'GET /api/v1/schedules'>;
type Warning = readonly [text: string, todo: string, address: string];

const USAGE_SECONDS = 30;
const SERIES_SECONDS = 60;
const FEED_SECONDS = 30;
const MINUTES = 60;
const MANY_FAILED = 0.02;
const LARGEST = 8;
const ACTIVE = ['running', 'pending', 'paused'];
const WORDS = TEXTS.overview;

export default function Overview() {
  const usage = useApi('/api/v1/usage', USAGE_SECONDS);
  const series = useApi('/api/v1/series', SERIES_SECONDS);
  const tasks = useResource<Tasks>(`api/v1/tasks?state=${ACTIVE.join(',')}&limit=50`);
  const failed = useFailedCount();
  const hosts = useApi('/api/v1/upstreams', SERIES_SECONDS);
  const changes = useTaskChanges();
  const all = useMemo(() => withTaskChanges(tasks.data?.tasks ?? [], changes), [tasks.data, changes]);
  const active = all.filter((task) => !isOver(task));
  const areaText = useAreaTexts();
  const failures = useHostFailures(active);
  return (
    <>
      <PageHead title={TEXTS.nav.overview} />
      <div className="grid">
        <FirstRun />
        <Warnings usage={usage.data} series={series.data} hosts={hosts.data} failedTasks={failed} />
        <Card title={WORDS.disk} className="span-4">
          <Loaded resource={usage}>{(data) => <Disk usage={data} />}</Loaded>
        </Card>
        <Card
          title={WORDS.layers}
          className="span-8"
          aside={<a href={addressOf('layers')}>{WORDS.allLayers}</a>}
        >
          <Loaded resource={usage}>{(data) => <Largest usage={data} />}</Loaded>
        </Card>
        <Card title={WORDS.running} aside={<a href={addressOf('tasks')}>{WORDS.allTasks}</a>}>
          <Loaded resource={tasks} empty={() => active.length === 0 && <NoTasks text={WORDS.noTasks} />}>
            {() => (
              <ul className="lines">
                {active.map((task) => (
                  <li key={task.id}>
                    <TaskLine task={task} area={areaText(task)} failures={failures} />
                  </li>
                ))}
              </ul>
            )}
          </Loaded>
        </Card>
        <Card
          title={fill(WORDS.traffic, { since: series.data ? sinceText(series.data.from) : '' })}
          className="span-7"
        >
          <Loaded resource={series}>{(data) => <Traffic series={data} />}</Loaded>
        </Card>
        <Card
          title={TEXTS.nav.upstreams}
          className="span-5"
          aside={<a href={addressOf('upstreams')}>{WORDS.allUpstreams}</a>}
        >
          <Loaded resource={hosts}>{(data) => <Health hosts={data.upstreams} />}</Loaded>
        </Card>
      </div>
    </>
  );
}

/** The name of the built-in layer of a server without a configuration. */
const BUILT_IN = 'world';

/** Leads to adding layers of a map server, as long as only the built-in layer is declared. */
function FirstRun() {
  const isAdmin = may(useCaller(), 'admin');
  const layers = useResource<readonly string[]>(isAdmin ? 'rest/layers.json' : null);
  const [url, setUrl] = useState('');
  if (layers.data?.join() !== BUILT_IN) return null;
  return (
    <Card title={TEXTS.firstRun.title}>
      <p className="quiet">{TEXTS.firstRun.help}</p>
      <Form className="row" onSubmit={() => goWith(url, addressOf('add'))}>
        <Input
          label={TEXTS.firstRun.address}
          type="url"
          pattern="https?://.+"
          required
          size={44}
          placeholder="https://maps.example.org/wms"
          value={url}
          onText={setUrl}
        />
        <Button type="submit" kind="primary beside-fields">
          {TEXTS.add.read}
        </Button>
      </Form>
    </Card>
  );
}

/** Tasks of the last 24 hours that ended with failures, counted by the server. */
function useFailedCount(): number {
  const [since] = useState(Date.now);
  const { data } = useResource<Tasks>(
    `api/v1/tasks?${searchOf(conditionsOf(FAILED_LATELY, since), 1)}`,
    SERIES_SECONDS,
  );
  return data === null ? 0 : data.counts.outcome.partial + data.counts.outcome.failed;
}

function Disk({ usage }: { usage: Usage }) {
  const { bytes, tiles, quota, growthPerDay, fullInDays, sweeping } = usage;
  return (
    <>
      <Gauge bytes={bytes} limit={quota.enabled ? quota.globalQuota.bytes : null} />
      <ul className="lines small">
        <li>{fill(WORDS.tiles, { count: tiles })}</li>
        <li>
          {growthPerDay === null
            ? WORDS.growthUnknown
            : fill(WORDS.growth, { bytes: bytesText(growthPerDay) })}
        </li>
        {fullInDays !== null && fullInDays >= 1 && (
          <li>{fill(WORDS.fullIn, { days: countText(fullInDays) })}</li>
        )}
        {sweeping > 0 && <li>{fill(WORDS.sweeping, { bytes: bytesText(sweeping) })}</li>}
      </ul>
    </>
  );
}

function Largest({ usage }: { usage: Usage }) {
  const largest = [...usage.layers].sort((a, b) => b.bytes - a.bytes).slice(0, LARGEST);
  const most = largest[0]?.bytes ?? 1;
  if (largest.length === 0) return <Empty>{WORDS.empty}</Empty>;
  return (
    <ul className="lines">
      {largest.map((layer) => (
        <li key={layer.name} className="usage-line">
          <a href={addressOf('layers', layer.name)} title={layer.name}>
            {layer.name}
          </a>
          <Bar share={layer.bytes / most} label={layer.name} />
          <span className="number">
            {bytesText(layer.bytes)}{' '}
            <span className="quiet small">{fill(WORDS.tiles, { count: layer.tiles })}</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Traffic({ series }: { series: Series }) {
  const [hits, misses, failed] = [sum(series.hits), sum(series.misses), sum(series.failed)];
  const others = sum(series.stale) + sum(series.bypassed);
  const requests = hits + misses + others + failed;
  if (requests === 0) return <Empty>{WORDS.noTraffic}</Empty>;
  const perMiss = misses === 0 ? null : sum(series.missMilliseconds) / misses;
  const kinds = [series.misses, series.stale, series.bypassed, series.failed];
  const all = series.hits.map((value, place) => value + sum(kinds.map((counts) => counts[place] ?? 0)));
  const requestsPlot = grouped(all);
  const minutes = (groupSize(all.length) * series.stepSeconds) / 60;
  const times = requestsPlot.map((_, place) => Date.parse(series.from) + place * minutes * 60_000);
  return (
    <div className="stack">
      <div className="row">
        <Figure label={WORDS.hitRate} value={percentText(hits / requests)} />
        <Figure label={WORDS.requests} value={countText(requests)} />
        <Figure label={WORDS.sent} value={bytesText(sum(series.bytes))} />
        <Figure label={WORDS.missTime} value={perMiss === null ? '–' : shortTimeText(perMiss)} />
        <Figure label={WORDS.failed} value={countText(failed)} />
      </div>
      <Plot
        lines={[
          { name: WORDS.requests, values: requestsPlot },
          { name: WORDS.misses, values: grouped(series.misses) },
          { name: WORDS.failed, values: grouped(series.failed) },
        ]}
        times={times}
        label={fill(WORDS.perMinutes, { minutes })}
        text={countText}
      />
    </div>
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function shortTimeText(ms: number): string {
  return ms < 1000 ? `${countText(ms)} ms` : durationText(ms / 1000);
}

/** The health of map servers, the worst first. */
function Health({ hosts }: { hosts: Upstreams['upstreams'] }) {
  if (hosts.length === 0) return <Empty>{TEXTS.upstreams.empty}</Empty>;
  const failing = ({ state }: (typeof hosts)[number]) => (state === 'healthy' ? 0 : 1);
  const worst = [...hosts].sort((a, b) => failing(b) - failing(a) || b.requests - a.requests);
  return (
    <ul className="lines">
      {worst.slice(0, LARGEST).map((host) => (
        <li key={host.host} className="upstream-line">
          <span className="cut" title={host.host}>
            {host.host}
          </span>
          <HealthBadge host={host} />
          <span className="small quiet number">
            {host.latency && `${countText(host.latency.p50)} ms · `}
            {fill(WORDS.failures, { count: failuresOf(host) })}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** Count of values that share a point: at most 240 points, so that a day is drawn quickly. */
function groupSize(count: number): number {
  return Math.max(1, Math.ceil(count / 240));
}

function grouped(values: readonly number[]): readonly number[] {
  const size = groupSize(values.length);
  const groups = Math.ceil(values.length / size);
  return Array.from({ length: groups }, (_, place) => sum(values.slice(place * size, (place + 1) * size)));
}

function Figure({ label, value }: { label: string; value: string }) {
  return (
    <div className="figure">
      <div className="big">{value}</div>
      <div className="small quiet">{label}</div>
    </div>
  );
}

/** Problems that need an action, each with a link to its page. Null values are not loaded yet. */
function Warnings(props: {
  usage: Usage | null;
  series: Series | null;
  hosts: Upstreams | null;
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
  const misses = fill(WORDS.warnMisses, { share: percentText(share) });
  const isInitial = me.data?.passwordIsInitial === true;
  const warnings: readonly Warning[] = [
    ...diskWarnings(usage),
    // A cache at its quota is normal.
    ...warnIf(!usage.quota.enabled, WORDS.warnNoQuota, WORDS.warnNoQuotaDo, addressOf('quota')),
    ...warnIf(failedTasks > 0, fill(WORDS.warnFailed, { count: failedTasks }), WORDS.warnFailedDo, tasks),
    ...upstreamWarnings(hosts?.upstreams ?? []),
    ...feedWarnings(feeds.data?.changes ?? []),
    ...scheduleWarnings(schedules.data?.schedules ?? []),
    ...warnIf(share >= MANY_FAILED, misses, WORDS.warnUpstreamDo, upstreams),
    ...warnIf(isInitial, WORDS.warnPassword, WORDS.warnPasswordDo, addressOf('accounts')),
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

/** Warnings for stores that do not accept tiles, which happens before the disk is completely full. */
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

/** Warnings for failing upstreams; quiet hours and a used-up budget are not problems. */
function upstreamWarnings(hosts: Upstreams['upstreams']): readonly Warning[] {
  const failing = hosts.filter(({ state }) => /failing|probing/.test(state));
  return failing.map(({ host, lastFailure, waitingUntil }) => {
    const pause = waitingUntil ? fill(WORDS.warnUpstreamPaused, { until: momentText(waitingUntil) }) : '';
    const reason = lastFailure ? failureName(lastFailure.reason) : TEXTS.unknown;
    const text = `${fill(WORDS.warnUpstream, { host, reason })} ${pause}`.trim();
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

/** Share of failures in the requests of the last hour. */
function failedShare(series: Series): number {
  const lately = (values: readonly number[]) => sum(values.slice(-MINUTES));
  const failed = lately(series.failed);
  return failed / Math.max(1, failed + lately(series.hits) + lately(series.misses));
}
