import { useResource } from '../api/use-resource.ts';
import { bytesText, countText, timeText } from '../format.ts';
import { Card, Empty, Loaded, PageHead } from '../parts/basics.tsx';
import { TEXTS } from '../texts.ts';
import type { OpenApi } from './open-api.ts';

const WORDS = TEXTS.upstreams;
const PATH = '/api/v1/upstreams';
const REFRESH_SECONDS = 10;

/** Whatever the server tells of the hosts that it asks, as it tells it. */
export default function Upstreams() {
  const document = useResource<OpenApi>('api/v1/openapi.json');
  const told = document.data?.paths[PATH] !== undefined;
  const hosts = useResource<unknown>(told ? PATH.slice(1) : null, REFRESH_SECONDS);
  return (
    <>
      <PageHead title={WORDS.title} under={WORDS.help} />
      <Loaded resource={document}>
        {() =>
          told ? (
            <Loaded resource={hosts}>{(data) => <Hosts hosts={listIn(data)} />}</Loaded>
          ) : (
            <Empty>{WORDS.missing}</Empty>
          )
        }
      </Loaded>
    </>
  );
}

type Host = Readonly<Record<string, unknown>>;

function Hosts({ hosts }: { readonly hosts: readonly Host[] }) {
  if (hosts.length === 0) return <Empty>{WORDS.empty}</Empty>;
  return (
    <div className="grid">
      {hosts.map((host, place) => (
        <Card key={nameOf(host, place)} title={nameOf(host, place)} className="span-6">
          <dl className="facts">
            {Object.entries(host).map(([name, value]) => (
              <Fact key={name} name={name} value={value} />
            ))}
          </dl>
        </Card>
      ))}
    </div>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <>
      <dt>{wordsOf(name)}</dt>
      <dd>{valueText(name, value)}</dd>
    </>
  );
}

function nameOf(host: Host, place: number): string {
  return String(host.host ?? host.name ?? host.url ?? place + 1);
}

/** The list in `{ upstreams: [...] }`, or the answer when it is a list itself. */
function listIn(data: unknown): readonly Host[] {
  const list = Array.isArray(data) ? data : Object.values((data ?? {}) as object).find(Array.isArray);
  return (list ?? []) as readonly Host[];
}

/** `ratePerSecond` → `Rate per second`. */
function wordsOf(name: string): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function valueText(name: string, value: unknown): string {
  if (value === null || value === undefined) return TEXTS.none;
  if (typeof value === 'number') return /bytes/i.test(name) ? bytesText(value) : countText(value);
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)) return timeText(value);
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([key, inner]) => `${wordsOf(key)}: ${valueText(key, inner)}`)
      .join(', ');
  }
  return String(value);
}
