import { useDeferredValue, useState } from 'react';
import type { Answer } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { timeText } from '../format.ts';
import { Button, Card, Choice, Input, Loaded, PageHead, Table, tied } from '../parts/basics.tsx';
import { changeQuery, useRoute } from '../route.ts';
import { TEXTS } from '../texts.ts';

type Entry = Answer<'/api/v1/audit'>['entries'][number];

const WORDS = TEXTS.audit;
const FILTERS = ['actor', 'text', 'outcome'] as const;
const FIRST = 100;
const MOST = 1000;

export default function Audit() {
  const { query } = useRoute();
  const [actor = '', text = '', outcome = ''] = FILTERS.map((name) => query.get(name) ?? '');
  const [limit, setLimit] = useState(FIRST);
  const given = Object.entries({ actor, text, outcome }).filter(([, value]) => value !== '');
  const search = useDeferredValue(new URLSearchParams([...given, ['limit', String(limit)]]).toString());
  const entries = useResource<Answer<'/api/v1/audit'>>(`api/v1/audit?${search}`);
  const filter = tied({ actor, text, outcome }, changeQuery);
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
        </div>
        <Card>
          <Loaded resource={entries} empty={(data) => data.entries.length === 0 && WORDS.empty}>
            {(data) => <Entries entries={data.entries} />}
          </Loaded>
        </Card>
        {limit < MOST && (entries.data?.entries.length ?? 0) >= limit && (
          <Button onClick={() => setLimit(MOST)}>{TEXTS.more}</Button>
        )}
      </div>
    </>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }) {
  return (
    <Table
      label={TEXTS.nav.audit}
      head={[WORDS.time, WORDS.actor, WORDS.action, WORDS.target, WORDS.source, WORDS.outcome]}
      rows={entries.map((entry, place) => [
        // An entry may have no id.
        `${entry.id} ${place}`,
        timeText(entry.time),
        entry.actor ?? WORDS.stranger,
        <>
          {actionText(entry)}
          <Change entry={entry} />
        </>,
        entry.target,
        <span key="source" className="mono">
          {entry.source}
        </span>,
        <span key="outcome" className={`badge ${entry.outcome === 'done' ? 'done' : 'failed'}`}>
          {entry.outcome ?? entry.phase} {entry.status}
        </span>,
      ])}
    />
  );
}

/** `POST /api/v1/tasks/{id}/pause` with the path that was really asked for; others have a word. */
function actionText({ action, path }: Entry): string {
  const [method = '', template] = action.split(' ', 2);
  return path === null || template === undefined ? action : `${method} ${path}`;
}

/** What it was and what it became, as far as the server wrote it down. */
function Change({ entry: { before, after } }: { entry: Entry }) {
  const parts = [
    [WORDS.before, before],
    [WORDS.after, after],
  ].filter(([, value]) => value !== null && value !== undefined);
  if (parts.length === 0) return null;
  return (
    <details className="small change">
      <summary>{WORDS.change}</summary>
      {parts.map(([name, value]) => (
        <pre key={String(name)}>
          {String(name)}: {JSON.stringify(value, null, 1)}
        </pre>
      ))}
    </details>
  );
}
