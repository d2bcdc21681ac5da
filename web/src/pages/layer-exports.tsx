import { useEffect, useState } from 'react';
import { type ApiResponse, curl, part, quoted, send } from '../api/client.ts';
import { useAction, useResource } from '../api/use-resource.ts';
import { agoText, bytesText, fill, valuesText, zoomsText } from '../format.ts';
import { Bar, Button, Card, Copy, LinkButton, Loaded, ProblemNotice } from '../parts/basics.tsx';
import { addressOf } from '../route.ts';
import { TEXTS } from '../texts.ts';

type Exports = ApiResponse<'GET /api/v1/exports'>;
type Export = Exports['exports'][number];

const WORDS = TEXTS.exports;
const PATH = 'api/v1/exports';
/** Seconds between requests while an export runs, and otherwise. */
const [OFTEN, SELDOM] = [1, 30];

/** Exports of the layer's cached tiles, for operators: their progress, download and deletion. */
export function LayerExports({ layer }: { layer: string }) {
  const [everySeconds, setEverySeconds] = useState(OFTEN);
  const list = useResource<Exports>(PATH, everySeconds);
  const own = list.data?.exports.filter((one) => one.layer === layer) ?? [];
  const busy = own.some(({ endedAt }) => endedAt === null);
  useEffect(() => setEverySeconds(busy ? OFTEN : SELDOM), [busy]);
  const action = useAction();
  const remove = (id: string) => action.run(() => send('DELETE', `${PATH}/${part(id)}`).then(list.reload));
  const add = <LinkButton href={addressOf('seed', layer, { type: 'export' })}>{WORDS.add}</LinkButton>;
  return (
    <Card title={WORDS.title} className="span-6" aside={add}>
      <ProblemNotice problem={action.problem} />
      <Loaded resource={list}>
        {() => (
          <div className="stack">
            {own.length === 0 && <p className="quiet">{WORDS.none}</p>}
            {own.map((one) => (
              <ExportLine key={one.id} one={one} busy={action.busy} onRemove={() => remove(one.id)} />
            ))}
          </div>
        )}
      </Loaded>
    </Card>
  );
}

function ExportLine(props: { one: Export; busy: boolean; onRemove: () => unknown }) {
  const { one, busy, onRemove } = props;
  const { type, gridSet, format, parameters, zoomStart, zoomStop, state, tiles, expected } = one;
  const file = `${PATH}/${part(one.id)}/file`;
  return (
    <div className="stack entry">
      <div className="row">
        <span>
          <strong>{TEXTS.seed.archives[type]}</strong>{' '}
          {[gridSet, format, valuesText(parameters)].filter((text) => text !== '').join(', ')},{' '}
          {zoomsText(zoomStart, zoomStop)}
        </span>
        {state === 'done' && (
          <LinkButton href={file} download>
            {fill(WORDS.download, { size: bytesText(one.bytes ?? 0) })}
          </LinkButton>
        )}
        <Button
          kind="danger"
          title={curl('DELETE', `${PATH}/${part(one.id)}`)}
          disabled={busy}
          onClick={onRemove}
        >
          {one.endedAt === null ? TEXTS.cancel : TEXTS.remove}
        </Button>
      </div>
      <span className={state === 'failed' ? 'small field-error' : 'small quiet'} role="status">
        {fill(WORDS.states[state], { count: tiles, reason: one.reason ?? '' })}{' '}
        {agoText(one.endedAt ?? one.createdAt)}
      </span>
      {state === 'running' && <Bar share={expected ? tiles / expected : 0} label={WORDS.title} />}
      {state === 'done' && (
        <Copy folded text={`${curl('GET', file)} -o ${quoted(`export.${type}`)}`} label={TEXTS.tasks.curl} />
      )}
    </div>
  );
}
