import { invalid } from '../domain/errors.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import { type Imported, ImportReport, type SubjectReport, withoutTwins } from './import-report.ts';
import { mapProxyInspire } from './mapproxy-inspire.ts';
import { type MapProxyFiles, MapProxyReader } from './mapproxy-reader.ts';
import { REASONS, SERVICE_REASONS } from './mapproxy-reasons.ts';
import { schedulesOf } from './mapproxy-seeds.ts';
import { groupsIn, namedLayers, tableIn } from './mapproxy-tables.ts';
import { type Variables, withValues } from './mapproxy-variables.ts';
import { mapProxyService } from './service-metadata.ts';
import { type Table, TrackedTable } from './tracked-table.ts';

/** Services with metadata, the first counts; MapProxy's WMTS takes that of its WMS too. */
const DESCRIBED = ['wms', 'wmts'];
const SECTIONS = ['layers', 'caches', 'sources', 'grids', 'globals'];

/** `mapproxy.yaml`, and `seed.yaml` if there is one. Throws `request-invalid` for another document. */
export function importMapProxy(
  tree: unknown,
  { environment = {}, ...options }: MapProxyFiles & { readonly environment?: Variables },
  seeds: unknown = null,
): Imported {
  if (!isRecord(tree) || !('layers' in tree) || !('caches' in tree || 'sources' in tree)) {
    throw invalid('This is not a MapProxy configuration with layers, and caches or sources.');
  }
  if (seeds !== null && !(isRecord(seeds) && ('seeds' in seeds || 'cleanups' in seeds))) {
    throw invalid('The second file is not a MapProxy seed.yaml with seeds or cleanups.');
  }
  const report = new ImportReport();
  const about = report.about('mapproxy.yaml');
  for (const section of Object.keys(tree)) {
    if (section === 'services') about.changed(section, 'every service is offered for every layer');
    else if (!SECTIONS.includes(section)) about.leftOut(section, REASONS[section] ?? 'is not known here');
    else if (section !== 'globals') about.taken(section);
  }
  const sources = withValues(tree.sources, environment, (name) =>
    about.changed('sources', `$${name} is written by its value now`),
  );
  const reader = new MapProxyReader({ ...tree, sources }, options, report);
  const shown = namedLayers(tree.layers).flatMap((layer) => reader.layer(layer) ?? []);
  reader.finish();
  const layers = withoutTwins([...shown, ...reader.innerLayers], report);
  const schedules = seeds ? schedulesOf(seeds, reader.cacheLayers, options.readText, report) : new Map();
  return {
    adoptBuckets: Object.fromEntries(reader.buckets),
    areas: reader.areas.documents,
    gridSets: reader.grids.documents(),
    layers: layers.map((layer) => {
      const own = schedules.get(layer.name);
      return own ? { ...layer, schedules: own } : layer;
    }),
    groups: groupsIn(tree.layers),
    service: serviceIn(tree, about),
    report,
  };
}

/** Service metadata. Reports every field of every service, except the SRS, which are read for the layers. */
function serviceIn(tree: Table, about: SubjectReport): object | undefined {
  const services = tableIn(tree, 'services');
  const described = DESCRIBED.find((one) => isRecord(tableIn(services, one).md)) ?? 'wms';
  const tracked = (name: string) => {
    const { srs: _, ...fields } = tableIn(services, name);
    return [name, new TrackedTable(fields, about, `services.${name}`)] as const;
  };
  const tables = new Map(Object.keys(services).map(tracked));
  const md = tables.get(described)?.table('md');
  const inspire = tables.get('wms')?.table('inspire_md');
  const service = omitUndefined({
    ...(md && mapProxyService(md)),
    ...(inspire && { inspire: mapProxyInspire(inspire) }),
  });
  for (const table of tables.values()) table.report(SERVICE_REASONS);
  return Object.keys(service).length > 0 ? service : undefined;
}
