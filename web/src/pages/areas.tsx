import { lazy, Suspense } from 'react';
import { type ApiResponse, part } from '../api/client.ts';
import { useApi, useResource } from '../api/use-resource.ts';
import { countText, fill, labelled, preciseTimeText } from '../format.ts';
import { Card, LinkButton, Loaded, PageHead, Table } from '../parts/basics.tsx';
import { addressOf, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

type Areas = ApiResponse<'GET /api/v1/areas'>['areas'];

/** Loaded on demand, because it includes the map library. */
const AreaMap = lazy(() => import('./area-map.tsx'));
const WORDS = TEXTS.areas;
const REFRESH_SECONDS = 30;
const MAX_ZOOM = 12;

/** `#/areas`: the list; `#/areas/utrecht`: also that area on the map. */
export default function AreaPage() {
  const { item } = useRoute();
  const areas = useApi('/api/v1/areas', REFRESH_SECONDS);
  return (
    <>
      <PageHead title={TEXTS.nav.areas} under={WORDS.help} />
      <div className="stack">
        {item !== '' && <OnMap key={item} name={item} />}
        <Card title={TEXTS.nav.areas}>
          <Loaded resource={areas} empty={(data) => data.areas.length === 0 && WORDS.none}>
            {(data) => <AreaTable areas={data.areas} />}
          </Loaded>
        </Card>
      </div>
    </>
  );
}

function AreaTable({ areas }: { areas: Areas }) {
  const mayWork = may(useCaller(), 'operator');
  return (
    <Table
      label={TEXTS.nav.areas}
      head={[TEXTS.name, TEXTS.gridSets.crs, WORDS.updated, WORDS.points]}
      numbers={1}
      buttons={TEXTS.nav.seed}
      rows={areas.map((area) => [
        area.name,
        <span key="name">
          <a href={addressOf('areas', area.name)}>{area.name}</a>
          {area.error !== null && <span className="field-error"> {area.error}</span>}
        </span>,
        area.srs,
        area.points === 0 ? WORDS.unread : preciseTimeText(area.updatedAt),
        countText(area.points),
        mayWork && (
          <LinkButton
            key="seed"
            aria-label={labelled(TEXTS.nav.seed, area.name)}
            href={addressOf('seed', '', { area: area.name })}
          >
            {TEXTS.nav.seed}
          </LinkButton>
        ),
      ])}
    />
  );
}

function OnMap({ name }: { name: string }) {
  const shape = useResource<ApiResponse<'GET /api/v1/areas/{name}'>>(`api/v1/areas/${part(name)}`);
  const layers = useApi('/api/v1/layers');
  return (
    <Card title={name}>
      <Loaded resource={layers} empty={(data) => data.layers.length === 0 && WORDS.noLayer}>
        {(data) => (
          <Loaded resource={shape}>
            {(found) => (
              <Suspense>
                <AreaMap
                  layer={data.layers[0]?.name ?? ''}
                  area={{ kind: 'shape', shape: found, crs: 'EPSG:4326' }}
                  maxZoom={MAX_ZOOM}
                  label={fill(WORDS.map, { name })}
                />
              </Suspense>
            )}
          </Loaded>
        )}
      </Loaded>
    </Card>
  );
}
