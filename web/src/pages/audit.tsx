import { useDeferredValue, useState } from 'react';
import { type ApiResponse, curl, part, send } from '../api/client.ts';
import { useAction, useResource } from '../api/use-resource.ts';
import { fill, labelled, preciseTimeText } from '../format.ts';
import {
  ActionNotices,
  Button,
  Card,
  Choice,
  Input,
  Loaded,
  PageHead,
  Table,
  tied,
} from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { addressOf, changeQuery, useRoute } from '../route.ts';
import { LANGUAGE, TEXTS } from '../texts.ts';

type Entry = ApiResponse<'GET /api/v1/audit'>['entries'][number];

const WORDS = TEXTS.audit;
const FILTERS = ['actor', 'text', 'outcome', 'since', 'until'] as const;
const FIRST = 100;
const MAX_ENTRIES = 1000;

export default function Audit() {
  const { query } = useRoute();
  const [actor = '', text = '', outcome = '', since = '', until = ''] = FILTERS.map(
    (name) => query.get(name) ?? '',
  );
  const [limit, setLimit] = useState(FIRST);
  const range = { since: dayStart(since, 0), until: dayStart(until, 1) };
  const conditions = Object.entries({ actor, text, outcome, ...range }).filter(([, value]) => value !== '');
  const search = useDeferredValue(new URLSearchParams([...conditions, ['limit', String(limit)]]).toString());
  const entries = useResource<ApiResponse<'GET /api/v1/audit'>>(`api/v1/audit?${search}`);
  const filter = tied({ actor, text, outcome, since, until }, changeQuery);
  return (
    <>
      <PageHead title={TEXTS.nav.audit} />
      <div className="stack">
        <div className="row">
          <Input label={WORDS.actor} type="search" {...filter.text('actor')} />
          <Input label={WORDS.text} type="search" {...filter.text('text')} />
          <Choice
            label={WORDS.outcome}
            options={{ '': TEXTS.tasks.any, ...WORDS.outcomes }}
            {...filter.choice('outcome')}
          />
          <Input label={WORDS.since} type="date" {...filter.text('since')} />
          <Input label={WORDS.until} type="date" {...filter.text('until')} />
        </div>
        <Card>
          <Loaded resource={entries} empty={(data) => data.entries.length === 0 && WORDS.empty}>
            {(data) => <Entries entries={data.entries} onRestored={entries.reload} />}
          </Loaded>
        </Card>
        {limit < MAX_ENTRIES && (entries.data?.entries.length ?? 0) >= limit && (
          <Button onClick={() => setLimit(MAX_ENTRIES)}>{TEXTS.more}</Button>
        )}
      </div>
    </>
  );
}

/** The start of a day in this browser's time zone, `later` days on; empty for an invalid day. */
function dayStart(day: string, later: number): string {
  const [year = 0, month = 0, date = 0] = day.split('-').map(Number);
  return day === '' || !date ? '' : new Date(year, month - 1, date + later).toISOString();
}

function Entries({ entries, onRestored }: { entries: readonly Entry[]; onRestored: () => void }) {
  return (
    <Table
      label={TEXTS.nav.audit}
      head={[WORDS.time, WORDS.actor, WORDS.action, WORDS.target, WORDS.source, WORDS.outcome]}
      rows={entries.map((entry, place) => [
        // A stable key, so that a notice stays at its entry when others are added above. An entry may have no id.
        entry.id === null ? `at ${place}` : `${entry.id} ${entry.phase}`,
        preciseTimeText(entry.time),
        <Actor key="actor" entry={entry} />,
        <>
          <span title={requestText(entry)}>
            {/refused|failed/.test(entry.outcome ?? '')
              ? fill(WORDS.attempted, { action: actionText(entry) })
              : actionText(entry)}
          </span>
          <Change entry={entry} />
          <Restore entry={entry} onRestored={onRestored} />
        </>,
        <Target key="target" target={entry.target} />,
        <span key="source" className="mono">
          {entry.source}
        </span>,
        <span key="outcome" className={`badge ${entry.outcome === 'done' ? 'done' : 'failed'}`}>
          {entry.outcome === null ? entry.phase : WORDS.outcomes[entry.outcome]}{' '}
          {entry.outcome === 'done' ? '' : entry.status}
        </span>,
      ])}
    />
  );
}

/** The name, for external accounts with the account's id, because their names are not unique. */
function Actor({ entry: { actor, account } }: { entry: Entry }) {
  const isExternal = /^(oidc|proxy):/.test(account ?? '');
  return (
    <>
      {actor ?? WORDS.stranger}
      {isExternal && <div className="mono small quiet">{account?.replace(/^oidc:/, '')}</div>}
    </>
  );
}

/** The request of an entry, e.g. `POST /api/v1/tasks/7/pause`. */
function requestText({ action, path }: Entry): string {
  const [method = '', template] = action.split(' ', 2);
  return path === null || template === undefined ? action : `${method} ${path}`;
}

/** What was done, in the user's language. The server's summary has more details, but is English. */
function actionText(entry: Entry): string {
  const actions: Readonly<Record<string, string>> = WORDS.actions;
  const after = fieldsOf(entry.after);
  const toggled = isEnabled(fieldsOf(entry.before)) !== isEnabled(after);
  const switched = toggled
    ? actions[`${entry.action} ${isEnabled(after) ? 'enabled' : 'disabled'}`]
    : undefined;
  const text = switched ?? actions[entry.action];
  if (entry.summary !== null && (LANGUAGE === 'en' || text === undefined)) return entry.summary;
  if (text === undefined) return requestText(entry);
  const details = detailsText(after);
  return details === '' ? text : labelled(text, details);
}

function isEnabled({ enabled }: Readonly<Record<string, unknown>>): boolean {
  return enabled !== false;
}

/** E.g. `Seed #7`, or a count of tiles or data changes. */
function detailsText({ type, task, tiles, merged }: Readonly<Record<string, unknown>>): string {
  const types: Readonly<Record<string, string>> = TEXTS.tasks.types;
  const count = typeof tiles === 'number' ? fill(TEXTS.overview.tiles, { count: tiles }) : merged;
  const parts = [types[String(type)], task && `#${task}`, count];
  return parts.filter((part) => part !== undefined).join(' ');
}

const TARGET_PAGES: Readonly<Record<string, (name: string) => string>> = {
  layer: (name) => addressOf('layers', name),
  schedule: (id) => addressOf('schedules', id),
  user: () => addressOf('accounts'),
  token: () => addressOf('accounts'),
  key: () => addressOf('keys'),
  quota: () => addressOf('quota'),
  upstream: () => addressOf('upstreams'),
  delivery: () => addressOf('changes'),
  follow: (name) => addressOf('changes', `follow:${name}`),
};

function Target({ target }: { target: string | null }) {
  const [kind = '', ...name] = target?.split(':') ?? [];
  const address = TARGET_PAGES[kind]?.(name.join(':'));
  return address === undefined ? target : <a href={address}>{kind === 'layer' ? name.join(':') : target}</a>;
}

/** The fields of a value, or of the declaration that it wraps as `document`. */
function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return {};
  const fields = value as Readonly<Record<string, unknown>>;
  return typeof fields.document === 'object' && fields.document !== null ? fieldsOf(fields.document) : fields;
}

function Change({ entry }: { entry: Entry }) {
  const [before, after] = [fieldsOf(entry.before), fieldsOf(entry.after)];
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (changed.length === 0) return null;
  const text = (value: unknown) => (value === undefined ? '–' : JSON.stringify(value));
  return (
    <details className="small change">
      <summary>{WORDS.change}</summary>
      <Table
        label={WORDS.change}
        className="snug"
        head={[WORDS.field, WORDS.before, WORDS.after]}
        rows={changed.map((name) => [name, name, text(before[name]), text(after[name])])}
      />
    </details>
  );
}

const RESTORABLE = /^((PUT|DELETE) \/api\/v1\/layers\/\{layer\}|follow)$/;

function Restore({ entry, onRestored }: { entry: Entry; onRestored: () => void }) {
  const action = useAction();
  const { id, before, outcome, target } = entry;
  if (id === null || before === null || outcome !== 'done' || !RESTORABLE.test(entry.action)) return null;
  const path = `api/v1/audit/${part(id)}/restore`;
  const restore = async () => {
    const { schedules, lost } = await send<ApiResponse<'POST /api/v1/audit/{id}/restore'>>('POST', path);
    onRestored();
    return [
      WORDS.restored,
      ...(schedules.length > 0 ? [fill(WORDS.restoredSchedules, { names: schedules.join(', ') })] : []),
      ...(lost.length > 0 ? [fill(WORDS.lostSchedules, { names: lost.join(', ') })] : []),
      ...(entry.action.startsWith('DELETE') ? [WORDS.notRestored] : []),
    ].join(' ');
  };
  return (
    <>
      <ConfirmButton
        action={action}
        title={fill(WORDS.restoreTitle, { layer: target?.replace(/^layer:/, '') ?? '' })}
        verb={WORDS.restore}
        command={curl('POST', path)}
        text={entry.action.startsWith('DELETE') ? WORDS.restoreRemoved : WORDS.restoreText}
        onConfirm={restore}
      />
      <ActionNotices action={action} />
    </>
  );
}
