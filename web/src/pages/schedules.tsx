import { lazy } from 'react';
import { useApi } from '../api/use-resource.ts';
import { cronText } from '../cron-text.ts';
import { timeText } from '../format.ts';
import { Card, LinkButton, Loaded, Named, PageHead, Table } from '../parts/basics.tsx';
import { addressOf, useRoute } from '../route.ts';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';
import { inTimeText, RunBadge, type Schedule, SchedulePage } from './schedule.tsx';

/** Loaded on demand, because it includes the map library. */
const ScheduleForm = lazy(() => import('./schedule-form.tsx'));

const WORDS = TEXTS.schedules;
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
          <Card>
            <Table
              label={WORDS.list}
              head={[TEXTS.name, WORDS.when, WORDS.next, WORDS.lastRun]}
              rows={schedules.map((schedule) => [
                schedule.id,
                <Named
                  key="name"
                  name={<a href={addressOf('schedules', String(schedule.id))}>{schedule.name}</a>}
                  kind={`${TEXTS.tasks.types[schedule.type]} ${schedule.layer}`}
                />,
                <WhenText key="when" schedule={schedule} />,
                <NextRun key="next" schedule={schedule} />,
                <LastRun key="last" schedule={schedule} />,
              ])}
            />
          </Card>
        )}
      </Loaded>
    </>
  );
}

function LastRun({ schedule: { lastRun, timeZone } }: { schedule: Schedule }) {
  if (lastRun === null) return <span className="small quiet">{WORDS.neverRan}</span>;
  return <Named name={<RunBadge run={lastRun} />} kind={timeText(lastRun.at, timeZone)} />;
}

/** "At 22:00, every day" and, beneath, the time zone and the hours within which it may run. */
function WhenText({ schedule: { cron, timeZone, hours } }: { schedule: Schedule }) {
  return (
    <Named
      name={cronText(cron) ?? <code>{cron}</code>}
      kind={[timeZone, ...(hours === null ? [] : [hours.replace('-', ' – ')])].join(' · ')}
    />
  );
}

function NextRun({ schedule: { enabled, nextRuns, timeZone } }: { schedule: Schedule }) {
  const [next] = nextRuns;
  if (!enabled) return <span className="badge">{WORDS.off}</span>;
  if (next === undefined) return <span className="quiet">{TEXTS.none}</span>;
  return <Named name={inTimeText(next)} kind={timeText(next, timeZone)} />;
}
