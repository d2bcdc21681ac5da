import type { ApiResponse } from '../api/client.ts';
import { useApi } from '../api/use-resource.ts';
import { countText, fill, listOf, rateText } from '../format.ts';
import { Card, Input, Loaded, PageHead, TextField, tied } from '../parts/basics.tsx';
import { AreaNames, LayerPatterns } from '../parts/layer-field.tsx';
import { TEXTS } from '../texts.ts';
import {
  AddForm,
  type AddProps,
  areaNames,
  Credentials,
  Expiry,
  endOfDay,
  layerNames,
  listOrNull,
  useAddFields,
} from './credentials.tsx';

type Key = ApiResponse<'GET /api/v1/keys'>['keys'][number];

const WORDS = TEXTS.keys;

export default function Keys() {
  const keys = useApi('/api/v1/keys');
  return (
    <>
      <PageHead title={TEXTS.nav.keys} />
      <Card title={TEXTS.nav.keys} aside={<span className="small quiet">{WORDS.help}</span>}>
        <Loaded resource={keys}>{(data) => <KeyList keys={data.keys} onChanged={keys.reload} />}</Loaded>
      </Card>
    </>
  );
}

function KeyList({ keys, onChanged }: { keys: readonly Key[]; onChanged: () => void }) {
  return (
    <Credentials
      path="api/v1/keys"
      items={keys}
      onChanged={onChanged}
      words={{ ...WORDS, title: TEXTS.nav.keys, remove: TEXTS.remove, removeTitle: TEXTS.removeTitle }}
      head={[TEXTS.name, TEXTS.nav.layers, WORDS.areas, WORDS.origins, WORDS.limits, WORDS.today]}
      cells={(key) => [
        key.name,
        layerNames(key.layers),
        areaNames(key.areas),
        <span key="origins" className="row tight">
          {key.origins?.join(', ') ?? WORDS.any}
        </span>,
        limitText(key),
        countText(key.requestsToday),
      ]}
      secretOf={(response) => (response as ApiResponse<'POST /api/v1/keys'>).key}
      form={(add) => <AddKey onAdd={add} />}
    />
  );
}

function limitText({ ratePerSecond, requestsPerDay }: Key): string {
  const limits = [
    ratePerSecond !== null && fill(WORDS.perSecond, { rate: rateText(ratePerSecond) }),
    requestsPerDay !== null && fill(WORDS.perDay, { count: requestsPerDay }),
  ].filter((limit) => limit !== false);
  return limits.length === 0 ? WORDS.unlimited : limits.join(', ');
}

/** Whether a text is an origin as browsers send it (RFC 6454, 6.2). */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const WHOLE = { inputMode: 'numeric', pattern: '[1-9]\\d{0,8}', title: TEXTS.quota.notWhole } as const;
const BLANK = { name: '', layers: '*', areas: '', origins: '', rate: '', day: '', expires: '' };

function AddKey({ onAdd }: AddProps) {
  const { typed, change, clearAfter } = useAddFields(BLANK);
  const { text } = tied(typed, change);
  const { name, layers, areas, origins, rate, day, expires } = typed;
  const draft = {
    name,
    layers: listOf(layers),
    areas: listOrNull(areas),
    origins: listOrNull(origins),
    ratePerSecond: rate === '' ? null : Number(rate),
    requestsPerDay: day === '' ? null : Number(day),
    expiresAt: endOfDay(expires),
  };
  return (
    <AddForm verb={WORDS.add} onSubmit={() => clearAfter(onAdd(draft))}>
      <Input label={TEXTS.name} required pattern=".*\S.*" autoComplete="off" {...text('name')} />
      <LayerPatterns {...text('layers')} />
      <AreaNames {...text('areas')} />
      <TextField
        label={WORDS.origins}
        help={WORDS.originsHelp}
        error={listOf(origins).every(isOrigin) ? null : WORDS.badOrigins}
        {...text('origins')}
      />
      <Input label={WORDS.rate} {...WHOLE} {...text('rate')} />
      <Input label={WORDS.day} {...WHOLE} {...text('day')} />
      <Expiry label={TEXTS.accounts.expiresOn} {...text('expires')} />
    </AddForm>
  );
}
