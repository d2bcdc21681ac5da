import { useState } from 'react';
import { type Answer, type Reply, send } from '../api/client.ts';
import { useAction } from '../api/use-action.ts';
import { useResource } from '../api/use-resource.ts';
import { countText, listOf, rateText, timeText } from '../format.ts';
import {
  Button,
  Card,
  Copy,
  Empty,
  Expiry,
  Form,
  Input,
  Loaded,
  PageHead,
  ProblemNotice,
  Table,
  TextField,
  tied,
} from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { LayerPatterns } from '../parts/layer-field.tsx';
import { may, useCaller } from '../session.tsx';
import { TEXTS } from '../texts.ts';

type Key = Answer<'/api/v1/keys'>['keys'][number];

const WORDS = TEXTS.keys;

export default function Keys() {
  const isAdmin = may(useCaller(), 'admin');
  const keys = useResource<Answer<'/api/v1/keys'>>(isAdmin ? 'api/v1/keys' : null);
  return (
    <>
      <PageHead title={TEXTS.nav.keys} />
      {!isAdmin && <Empty>{TEXTS.needRole(TEXTS.nav.keys, TEXTS.roles.admin)}</Empty>}
      {isAdmin && (
        <Card title={TEXTS.nav.keys} aside={<span className="small quiet">{WORDS.help}</span>}>
          <Loaded resource={keys}>{(data) => <KeyList keys={data.keys} onChanged={keys.reload} />}</Loaded>
        </Card>
      )}
    </>
  );
}

function KeyList({ keys, onChanged }: { keys: readonly Key[]; onChanged: () => void }) {
  const action = useAction();
  const [created, setCreated] = useState<Reply<'POST /api/v1/keys'> | null>(null);
  const make = async (draft: object) => {
    setCreated(await send('POST', 'api/v1/keys', draft));
    onChanged();
  };
  const remove = async ({ id }: Key) => {
    await send('DELETE', `api/v1/keys/${id}`);
    if (created?.id === id) setCreated(null);
    onChanged();
  };
  return (
    <div className="stack">
      <ProblemNotice problem={action.problem} />
      {created && (
        <div className="notice good" role="status">
          <span>{WORDS.created}</span>
          <Copy label={TEXTS.nav.keys} text={created.key} />
        </div>
      )}
      {keys.length === 0 ? (
        <Empty>{WORDS.none}</Empty>
      ) : (
        <Table
          label={TEXTS.nav.keys}
          head={[
            TEXTS.name,
            TEXTS.nav.layers,
            WORDS.origins,
            WORDS.limits,
            WORDS.today,
            TEXTS.inspect.expires,
            TEXTS.accounts.lastUsed,
          ]}
          buttons={TEXTS.remove}
          rows={keys.map((key) => [
            key.id,
            key.name,
            <span key="layers" className="mono">
              {key.layers.join(', ')}
            </span>,
            key.origins?.join(', ') ?? WORDS.any,
            limitText(key),
            countText(key.requestsToday),
            key.expiresAt === null ? TEXTS.never : timeText(key.expiresAt),
            key.lastUsedAt === null ? TEXTS.never : timeText(key.lastUsedAt),
            <ConfirmButton
              key="remove"
              action={action}
              label={TEXTS.removeTitle(key.name)}
              title={TEXTS.removeTitle(key.name)}
              verb={TEXTS.remove}
              text={WORDS.removeText}
              onConfirm={() => remove(key)}
            >
              {TEXTS.remove}…
            </ConfirmButton>,
          ])}
        />
      )}
      {/* Another form, empty again, after a key was created. */}
      <AddKey key={created?.id ?? 0} onAdd={(draft) => action.run(() => make(draft))} />
    </div>
  );
}

function limitText({ ratePerSecond, requestsPerDay }: Key): string {
  const limits = [
    ratePerSecond !== null && WORDS.perSecond(rateText(ratePerSecond)),
    requestsPerDay !== null && WORDS.perDay(countText(requestsPerDay)),
  ].filter((limit) => limit !== false);
  return limits.length === 0 ? WORDS.unlimited : limits.join(', ');
}

/** RFC 6454, 6.2: as browsers write it. */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const WHOLE = { inputMode: 'numeric', pattern: '[1-9]\\d{0,8}', title: TEXTS.quota.notWhole } as const;
const BLANK = { name: '', layers: '*', origins: '', rate: '', day: '', expires: '' };

function AddKey({ onAdd }: { onAdd: (draft: object) => unknown }) {
  const [typed, setTyped] = useState(BLANK);
  const { text } = tied(typed, (changes) => setTyped({ ...typed, ...changes }));
  const { name, layers, origins, rate, day, expires } = typed;
  const draft = {
    name,
    layers: listOf(layers),
    origins: origins.trim() === '' ? null : listOf(origins),
    ratePerSecond: rate === '' ? null : Number(rate),
    requestsPerDay: day === '' ? null : Number(day),
    expiresAt: expires === '' ? null : new Date(`${expires}T23:59:59`).toISOString(),
  };
  return (
    <Form className="form-grid tops" onSubmit={() => onAdd(draft)} aria-label={WORDS.add}>
      <Input label={TEXTS.name} required pattern=".*\S.*" autoComplete="off" {...text('name')} />
      <LayerPatterns {...text('layers')} />
      <TextField
        label={WORDS.origins}
        help={WORDS.originsHelp}
        error={listOf(origins).every(isOrigin) ? null : WORDS.badOrigins}
        {...text('origins')}
      />
      <Input label={WORDS.rate} {...WHOLE} {...text('rate')} />
      <Input label={WORDS.day} {...WHOLE} {...text('day')} />
      <Expiry label={TEXTS.accounts.expiresOn} {...text('expires')} />
      <Button type="submit" kind="beside-fields">
        {WORDS.add}
      </Button>
    </Form>
  );
}
