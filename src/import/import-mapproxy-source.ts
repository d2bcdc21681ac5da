import { isRecord } from '../lib/value-path.ts';
import { withoutAbsent } from '../lib/without-absent.ts';
import type { ImportReport } from './import-report.ts';
import type { MapProxyGrid, Table } from './mapproxy-grids.ts';

/** Parameters of a request that are options of ours. */
const WMS_OPTIONS = ['url', 'layers', 'styles', 'transparent'];
/** MapProxy's words in addresses of tiles. */
const PLACES: Readonly<Record<string, string>> = {
  z: '{z}',
  x: '{x}',
  y: '{y}',
  quadkey: '{quadkey}',
  tms_path: '{z}/{x}/{y}',
};

/** A source of `mapproxy.yaml` as one of ours; null when there is none of its kind. */
export function importMapProxySource(
  source: Table,
  grids: readonly MapProxyGrid[],
  subject: string,
  report: ImportReport,
): object | null {
  const read = { wms: wmsSource, tile: tileSource }[String(source.type)];
  const imported = read?.(source, grids) ?? null;
  const used = ['type', 'req', 'url', 'wms_opts', 'http', 'grid'];
  if (!imported) return null;
  report.taken(
    subject,
    ...Object.keys(source)
      .filter((key) => used.includes(key))
      .map((key) => `source.${key}`),
  );
  for (const key of Object.keys(source).filter((one) => !used.includes(one))) {
    report.leftOut(subject, `source.${key}`, 'has no counterpart');
  }
  return imported;
}

function wmsSource(source: Table): object | null {
  const request = isRecord(source.req) ? source.req : {};
  const options = isRecord(source.wms_opts) ? source.wms_opts : {};
  const address = addressOf(request.url);
  if (!address || request.layers === undefined) return null;
  const others = Object.entries(request).filter(([key]) => !WMS_OPTIONS.includes(key));
  return withoutAbsent({
    type: 'wms',
    url: address.url,
    layers: textOf(request.layers),
    styles: request.styles === undefined ? undefined : textOf(request.styles),
    version: options.version === '1.3.0' ? '1.3.0' : undefined,
    transparent: request.transparent === true ? true : undefined,
    vendorParameters:
      others.length > 0 ? Object.fromEntries(others.map(([key, value]) => [key, textOf(value)])) : undefined,
    ...credentials(source, address),
  });
}

function tileSource(source: Table, grids: readonly MapProxyGrid[]): object | null {
  const template = typeof source.url === 'string' ? source.url : '';
  const address = addressOf(
    template.replaceAll(/%\((\w+)\)s/g, (whole, word: string) => PLACES[word] ?? whole),
  );
  const [grid] = grids;
  if (!address || !grid || address.url.includes('%(')) return null;
  const spelled = decodeURI(address.url);
  return {
    type: 'xyz',
    url: grid.origin === 'sw' ? spelled.replace('{y}', '{-y}') : spelled,
    ...(grid.document && { gridSets: Object.fromEntries(grids.map(({ name }) => [name, {}])) }),
    ...credentials(source, address),
  };
}

interface Address {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Credentials stand in the address there, and beside it here. */
function addressOf(given: unknown): Address | null {
  if (typeof given !== 'string' || !URL.canParse(given)) return null;
  const url = new URL(given);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  return {
    url: url.href.replace(/[?&]+$/, ''),
    username: decodeURIComponent(username),
    password: decodeURIComponent(password),
  };
}

function credentials({ http }: Table, { username, password }: Address): object {
  const headers = isRecord(http) && isRecord(http.headers) ? http.headers : null;
  return {
    ...(username !== '' && { username, password }),
    ...(headers && {
      headers: Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, String(value)])),
    }),
  };
}

function textOf(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
