import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { GridSet } from '../domain/grid-set.ts';
import { remembered } from '../lib/get-or-create.ts';
import { type CapabilitiesImport, importCapabilities } from './import-capabilities.ts';
import type { ImportedDocument, ReportEntry } from './import-report.ts';
import { LayerEntries } from './layer-entries.ts';

/** The result of importing an entry of the capabilities. */
interface KnownLayer {
  readonly name: string;
  /** Digest of the document; null: it cannot be served, or is not wanted. */
  readonly digest: string | null;
  /** Why it cannot be served. */
  readonly reason: string | null;
}

export interface RepeatedImportOptions extends CapabilitiesImport {
  readonly complete: (layer: ImportedDocument) => ImportedDocument;
}

/** Imports capabilities of one service repeatedly: layers whose entries have not changed are not read again. */
export function createRepeatedImport() {
  let known: ReadonlyMap<string, KnownLayer> = new Map();
  let formerGridSets = '';
  const digestOfGridSet = remembered<GridSet, string>(digestOf);

  return async (bytes: Buffer, options: RepeatedImportOptions) => {
    const gridSets = options.gridSets.map(digestOfGridSet).join();
    const former = new Map(gridSets === formerGridSets ? known : []);
    const entries = await LayerEntries.find(bytes);
    const readNew = () => importSome(entries, options, (key) => former.has(key));
    await nextTurn();
    let first = await readNew();
    if (forgetTwins(former, entries.keys, first.names)) first = await readNew();
    await nextTurn();
    const all = new Map<string, KnownLayer>();
    for (const key of entries.keys) {
      const layer = former.get(key) ?? first.byKey.get(key);
      if (layer) all.set(key, layer);
    }
    await nextTurn();
    known = withoutTwins(all);
    formerGridSets = gridSets;
    await nextTurn();
    // Layers that contain others are read each time.
    const layers = [...first.others, ...all.values()];
    return {
      names: new Set(layers.map(({ name }) => name)),
      layers: new Map(
        layers.flatMap(({ name, digest }) => (digest === null ? [] : [[name, digest] as const])),
      ),
      left: layers.flatMap(({ name, reason }) => (reason === null ? [] : [{ layer: name, reason }])),
      sequence: first.sequence,
      async documents(names: ReadonlySet<string>) {
        const unread = [...names].some((name) => !first.documents.has(name));
        if (!unread) return { layers: first.documents, gridSets: first.gridSets };
        const wanted = (key: string) => names.has(all.get(key)?.name ?? '');
        const second = await importSome(entries, options, (key) => !wanted(key));
        return { layers: second.documents, gridSets: second.gridSets };
      },
    };
  };
}

async function importSome(
  entries: LayerEntries,
  { complete, ...options }: RepeatedImportOptions,
  isLeftOut: (key: string) => boolean,
) {
  const { bytes, keep, names } = entries.without(isLeftOut);
  const service = await importCapabilities(bytes, options, keep);
  const documents = new Map(service.layers.map((layer) => [layer.name, complete(layer)]));
  const reasons = new Map(service.report.entries.filter(isRefusal).map(reportedReason));
  const layerOf = (name: string): KnownLayer => {
    const document = documents.get(name);
    return { name, digest: document ? digestOf(document) : null, reason: reasons.get(name) ?? null };
  };
  const own = new Set(names.map(({ name }) => name));
  return {
    ...{ documents, gridSets: service.gridSets, sequence: service.sequence, names: new Set(service.names) },
    byKey: new Map(names.flatMap(({ key, name }) => (name === '' ? [] : [[key, layerOf(name)] as const]))),
    others: service.names.filter((name) => !own.has(name)).map(layerOf),
  };
}

/** Forgets layers with the name of a new one: only the first of several counts. Returns whether there were any. */
function forgetTwins(
  former: Map<string, KnownLayer>,
  keys: readonly string[],
  names: ReadonlySet<string>,
): boolean {
  const twins = keys.filter((key) => names.has(former.get(key)?.name ?? ''));
  for (const key of twins) former.delete(key);
  return twins.length > 0;
}

/** Layers that share a name are read again each time: which one counts depends on the others. */
function withoutTwins(all: ReadonlyMap<string, KnownLayer>): ReadonlyMap<string, KnownLayer> {
  const counts = new Map<string, number>();
  for (const { name } of all.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...all].filter(([, { name }]) => counts.get(name) === 1));
}

function isRefusal({ subject, element, fate }: ReportEntry): boolean {
  return fate === 'left out' && element === 'Layer' && subject !== 'service';
}

function reportedReason({ subject, what }: ReportEntry): readonly [string, string] {
  return [subject.replace(/^layer /, ''), what];
}

function digestOf(value: unknown): string {
  return createHash('sha1').update(JSON.stringify(value)).digest('base64url');
}
