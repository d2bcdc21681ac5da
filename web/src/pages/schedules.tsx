import { lazy } from 'react';
import { useApi } from '../api/use-resource.ts';
import { cronText } from '../cron-text.ts';
import { timeText } from '../format.ts';
import { LinkButton, Loaded, PageHead } from '../parts/basics.tsx';
import { VirtualList } from '../parts/virtual-list.tsx';
import { addressOf, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { inTimeText, RunBadge, SchedulePage } from './schedule.tsx';
import type { Schedule } from './schedule-draft.ts';

/** Loaded on demand: it has a map. */
const ScheduleForm = lazy(() => import('./schedule-form.tsx'));

const WORDS = TEXTS.schedules;
const ROW_HEIGHT = 66;
const REFRESH_SECONDS = 30;
const NEW = 'new';

/** `#/schedules`, `#/schedules/new?layer=…`, `#/schedules/7` and `#/schedules/7?edit` */
export default function Schedules() {
  const { item, query } = useRoute();
  if (item === '') return <ScheduleList />;
  if (item === NEW || query.has('edit')) return <ScheduleForm key={item} id={item === NEW ? null : item} />;
  return <SchedulePage key={item} id={item} />;
}

function ScheduleList() {
  const caller = useCaller();
  const resource = useApi('/api/v1/schedules', REFRESH_SECONDS);
  const mayAdd = may(caller, 'operator');
  const add = (
    <LinkButton kind="primary" href={addressOf('schedules', NEW)}>
      {WORDS.add}
    </LinkButton>
  );
  return (
    <>
      <PageHead title={TEXTS.nav.schedules} actions={mayAdd ? add : undefined} />
      <Loaded resource={resource} empty={({ schedules }) => schedules.length === 0 && WORDS.empty}>
        {({ schedules }) => (
          <VirtualList items={schedules} rowHeight={ROW_HEIGHT} label={WORDS.list} keyOf={({ id }) => id}>
            {(schedule) => <ScheduleLine schedule={schedule} />}
          </VirtualList>
        )}
      </Loaded>
    </>
  );
}

function ScheduleLine({ schedule }: { schedule: Schedule }) {
  const { id, name, layer, type, lastRun, timeZone } = schedule;
  return (
    <div className="schedule-line">
      <span className="cut" title={name}>
        <a href={addressOf('schedules', String(id))}>
          <strong>{name}</strong>
        </a>
        <span className="cut small quiet block" title={layer}>
          {TEXTS.tasks.types[type]} {layer}
        </span>
      </span>
      <span>
        <WhenText schedule={schedule} />
      </span>
      <span className="small">
        <NextRun schedule={schedule} />
      </span>
      <span className="small">
        {lastRun === null ? <span className="quiet">{WORDS.neverRan}</span> : <RunBadge run={lastRun} />}
        {lastRun && <span className="quiet block">{timeText(lastRun.at, timeZone)}</span>}
      </span>
    </div>
  );
}

/** "At 22:00, every day" and, beneath, where and within which hours. */
function WhenText({ schedule: { cron, timeZone, hours } }: { schedule: Schedule }) {
  return (
    <>
      {cronText(cron) ?? <code>{cron}</code>}
      <span className="small quiet block">
        {timeZone}
        {hours !== null && ` · ${hours.replace('-', ' – ')}`}
      </span>
    </>
  );
}

function NextRun({ schedule: { enabled, nextRuns, timeZone } }: { schedule: Schedule }) {
  const [next] = nextRuns;
  if (!enabled) return <span className="badge">{WORDS.off}</span>;
  if (next === undefined) return <span className="quiet">{TEXTS.none}</span>;
  return (
    <>
      {inTimeText(next)}
      <span className="quiet block">{timeText(next, timeZone)}</span>
    </>
  );
}
