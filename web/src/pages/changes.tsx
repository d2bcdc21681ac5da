import { lazy, Suspense, useState } from 'react';
import { type ApiResponse, fetchJson, part, send } from '../api/client.ts';
import { useAction, useApi, useResource } from '../api/use-resource.ts';
import { coordinateText, countText, fill, labelled, preciseTimeText, withLocalTimes } from '../format.ts';
import type { Area } from '../map/draw-area.ts';
import { boxesOf } from '../map/shapes.ts';
import { ActionNotices, Button, Card, Loaded, Named, PageHead, Table } from '../parts/basics.tsx';
import { LayerLinks } from '../parts/task-parts.tsx';
import { addressOf, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { FOLLOW, Followed, PassesPage, State } from './follow.tsx';

type Feeds = ApiResponse<'GET /api/v1/changes'>;
type Deliveries = ApiResponse<'GET /api/v1/deliveries'>;
type Tested = ApiResponse<'POST /api/v1/deliveries/{kind}/{name}/test'>;
type Replayed = ApiResponse<'POST /api/v1/changes/{name}/replay'>;
type RecentChanges = ApiResponse<'GET /api/v1/changes/{name}/recent'>;

/** Loaded on demand, because it includes the map library. */
const AreaMap = lazy(() => import('./area-map.tsx'));
const WORDS = TEXTS.changes;
const REFRESH_SECONDS = 10;
const FIRST = 50;
const MAX_ZOOM = 12;
const DELIVERY_STATES = {
  pending: <span className="badge pending">{TEXTS.tasks.states.pending}</span>,
  delivered: <span className="badge done">{WORDS.delivered}</span>,
  failed: <span className="badge failed">{TEXTS.tasks.failed}</span>,
};

/** `#/changes`; `#/changes/parcels`: a feed; `#/changes/follow:city`: a followed map server. */
export default function Changes() {
  const { item } = useRoute();
  if (item.startsWith(FOLLOW)) return <PassesPage key={item} name={item.slice(FOLLOW.length)} />;
  return item === '' ? <Overview /> : <Recent key={item} name={item} />;
}

function Overview() {
  const isOperator = may(useCaller(), 'operator');
  const feeds = useApi('/api/v1/changes', REFRESH_SECONDS);
  const deliveries = useResource<Deliveries>(isOperator ? 'api/v1/deliveries' : null, REFRESH_SECONDS);
  return (
    <>
      <PageHead title={TEXTS.nav.changes} under={WORDS.help} />
      <div className="stack">
        <Card title={WORDS.feeds}>
          <Loaded resource={feeds} empty={({ changes }) => changes.length === 0 && WORDS.noFeeds}>
            {({ changes }) => <FeedTable feeds={changes} />}
          </Loaded>
        </Card>
        {isOperator && <Followed />}
        {isOperator && (
          <Card title={WORDS.targets} aside={<span className="small quiet">{WORDS.testHelp}</span>}>
            <Loaded resource={deliveries} empty={({ targets }) => targets.length === 0 && WORDS.noTargets}>
              {({ targets }) => <TargetTable targets={targets} />}
            </Loaded>
          </Card>
        )}
        {isOperator && (
          <Card title={WORDS.deliveries} aside={<span className="small quiet">{WORDS.deliveriesHelp}</span>}>
            <Loaded
              resource={deliveries}
              empty={(data) => data.deliveries.length === 0 && WORDS.noDeliveries}
            >
              {(data) => <DeliveryTable deliveries={data.deliveries} />}
            </Loaded>
          </Card>
        )}
      </div>
    </>
  );
}

function FeedTable({ feeds }: { feeds: Feeds['changes'] }) {
  return (
    <Table
      label={WORDS.feeds}
      head={[
        TEXTS.name,
        TEXTS.tasks.state,
        TEXTS.nav.layers,
        WORDS.latest,
        WORDS.received,
        WORDS.applied,
        WORDS.pending,
      ]}
      numbers={3}
      rows={feeds.map((feed) => [
        feed.name,
        <Named
          key="name"
          name={<a href={addressOf('changes', feed.name)}>{feed.name}</a>}
          kind={`${feed.type} · ${WORDS.actions[feed.action]}`}
        />,
        <State key="state" of={feed} />,
        <LayerLinks key="layers" names={feed.layers} />,
        feed.lastAt === null ? TEXTS.never : preciseTimeText(feed.lastAt),
        countText(feed.received),
        countText(feed.applied),
        countText(feed.pending),
      ])}
    />
  );
}

function TargetTable({ targets }: { targets: Deliveries['targets'] }) {
  const action = useAction();
  const test = async ({ kind, name }: Deliveries['targets'][number]) => {
    const path = `api/v1/deliveries/${kind}/${part(name)}/test`;
    const { delivered, error, ms } = await send<Tested>('POST', path);
    if (delivered) return fill(WORDS.testDelivered, { name, ms: countText(ms) });
    throw new Error(fill(WORDS.testFailed, { name, error: withLocalTimes(error ?? '') }));
  };
  return (
    <div className="stack">
      <ActionNotices action={action} />
      <Table
        label={WORDS.targets}
        head={[TEXTS.name, TEXTS.tasks.state, WORDS.lastDelivery, WORDS.pending]}
        buttons={WORDS.test}
        rows={targets.map((target) => [
          `${target.kind} ${target.name}`,
          <Named
            key="name"
            name={target.name}
            kind={[WORDS.kinds[target.kind], target.host, target.events?.join(', ')]
              .filter(Boolean)
              .join(' · ')}
          />,
          <State key="state" of={target} />,
          target.lastDeliveredAt === null ? TEXTS.never : preciseTimeText(target.lastDeliveredAt),
          countText(target.pending),
          <Button
            key="test"
            aria-label={labelled(WORDS.test, target.name)}
            disabled={action.busy}
            onClick={() => action.run(() => test(target))}
          >
            {WORDS.test}
          </Button>,
        ])}
      />
    </div>
  );
}

function DeliveryTable({ deliveries }: { deliveries: Deliveries['deliveries'] }) {
  const [isWhole, setWhole] = useState(false);
  return (
    <div className="stack">
      <Table
        label={WORDS.deliveries}
        head={[
          TEXTS.audit.target,
          TEXTS.tasks.state,
          TEXTS.audit.time,
          TEXTS.upstreams.lastFailure,
          WORDS.attempts,
        ]}
        numbers={1}
        rows={deliveries
          .slice(0, isWhole ? undefined : FIRST)
          .map((delivery) => [
            delivery.id,
            <Named key="name" name={delivery.name} kind={delivery.event ?? WORDS.kinds[delivery.kind]} />,
            DELIVERY_STATES[delivery.state],
            preciseTimeText(delivery.at),
            delivery.lastError && withLocalTimes(delivery.lastError),
            countText(delivery.attempts),
          ])}
      />
      {!isWhole && deliveries.length > FIRST && <Button onClick={() => setWhole(true)}>{TEXTS.more}</Button>}
    </div>
  );
}

function Recent({ name }: { name: string }) {
  const path = `api/v1/changes/${part(name)}/recent`;
  const recent = useResource<RecentChanges>(path, REFRESH_SECONDS);
  const action = useAction();
  const isOperator = may(useCaller(), 'operator');
  const replay = async () => {
    const { data } = await fetchJson<Replayed>('POST', `api/v1/changes/${part(name)}/replay`);
    return fill(WORDS.replayed, { count: data.changes });
  };
  return (
    <>
      <PageHead
        title={name}
        under={WORDS.lastHour}
        actions={
          isOperator && (
            <Button disabled={action.busy} onClick={() => action.run(replay)}>
              {WORDS.replay}
            </Button>
          )
        }
      />
      <ActionNotices action={action} />
      <Loaded resource={recent} empty={({ changes }) => changes.length === 0 && WORDS.quietHour}>
        {({ changes }) => (
          <div className="stack">
            <Card>
              <Suspense fallback={TEXTS.loading}>
                <AreaMap
                  layer={changes[0]?.layers[0] ?? ''}
                  area={areaOf(changes)}
                  maxZoom={MAX_ZOOM}
                  label={WORDS.map}
                />
              </Suspense>
            </Card>
            <Card title={WORDS.lastHour}>
              <RecentTable changes={changes} />
            </Card>
          </div>
        )}
      </Loaded>
    </>
  );
}

/** The area of all changes that have one. */
function areaOf(changes: RecentChanges['changes']): Area {
  return { kind: 'shape', shape: boxesOf(changes.flatMap(({ boxes }) => boxes ?? [])), crs: 'EPSG:4326' };
}

function RecentTable({ changes }: RecentChanges) {
  return (
    <Table
      label={WORDS.lastHour}
      head={[TEXTS.audit.time, TEXTS.nav.layers, TEXTS.seed.area, TEXTS.nav.changes]}
      numbers={1}
      rows={changes.map(({ id, at, layers, boxes, merged }) => [
        id,
        preciseTimeText(at),
        <LayerLinks key="layers" names={layers} />,
        <span key="area" className="mono">
          {boxes?.map((box) => box.map(coordinateText).join(', ')).join('; ') ?? WORDS.wholeLayer}
        </span>,
        countText(merged),
      ])}
    />
  );
}
