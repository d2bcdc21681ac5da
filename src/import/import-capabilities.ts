import { invalid, isTilewardenError } from '../domain/errors.ts';
import type { GridSet } from '../domain/grid-set.ts';
import { hintFor } from '../lib/closest-name.ts';
import { trimEndOf } from '../lib/scan-text.ts';
import { type KeepElement, readLongXml } from '../lib/xml/read-xml.ts';
import { type XmlElement, XmlError } from '../lib/xml/xml-element.ts';
import { collectYielding } from '../lib/yielding.ts';
import { wmsCapabilitiesOf } from '../sources/wms-capabilities.ts';
import { CAPABILITIES_LIMITS, wmtsCapabilitiesOf } from '../sources/wmts-capabilities.ts';
import { type Imported, type ImportedDocument, ImportReport, withoutTwins } from './import-report.ts';
import { createGridSetChooser, importWmsLayer, type MissingGridSet, MissingGridSets } from './import-wms.ts';
import { FittingGridSets, importWmtsLayer } from './import-wmts.ts';

export interface CapabilitiesImport {
  /** The address of the document. */
  readonly address: URL;
  /** Layers to import: names, or a condition for names; null: all. */
  readonly only: readonly string[] | ((name: string) => boolean) | null;
  /** Existing grid sets. */
  readonly gridSets: readonly GridSet[];
}

/** Parameters of a capabilities request, which do not belong to the address of the service. */
const REQUEST_PARAMETERS = /^(service|request|version|acceptversions|format|updatesequence|sections)$/i;
const SERVICE_EXCEPTION = /Exception/;

/** The address of the capabilities, from that of a service or of the capabilities themselves. */
export function capabilitiesAddress(text: string): URL {
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw invalid(`${text} is not an http or https address.`);
  const url = new URL(text);
  const has = (name: string) => [...url.searchParams.keys()].some((key) => key.toLowerCase() === name);
  if (has('request') || /\.xml$/i.test(url.pathname)) return url;
  const wmts = /wmts/i.test(url.pathname) || /[?&]service=wmts/i.test(url.search);
  if (!has('service')) url.searchParams.set('SERVICE', wmts ? 'WMTS' : 'WMS');
  url.searchParams.set('REQUEST', 'GetCapabilities');
  return url;
}

export interface ImportedService extends Imported {
  /** Names of all layers of the service. */
  readonly names: readonly string[];
  /** The service's own number of its configuration; null: none. */
  readonly sequence: string | null;
  readonly missing: readonly MissingGridSet[];
  /** Layers that need a missing grid set. */
  readonly withoutGridSet: MissingGridSets['layers'];
}

/** Reads WMS 1.1.1 and 1.3.0 and WMTS 1.0.0. Throws `request-invalid`. */
export async function importCapabilities(
  bytes: Buffer,
  options: CapabilitiesImport,
  keep?: KeepElement,
): Promise<ImportedService> {
  const root = await readRoot(bytes, keep);
  try {
    if (root.name === 'Capabilities') return await importWmts(root, options);
    if (root.name === 'WMS_Capabilities' || root.name === 'WMT_MS_Capabilities')
      return await importWms(root, options);
  } catch (error) {
    if (isTilewardenError(error)) throw error;
    throw invalid(
      `The capabilities cannot be used: ${error instanceof Error ? error.message : String(error)}.`,
    );
  }
  const why = SERVICE_EXCEPTION.test(root.name) ? `: ${wholeText(root).slice(0, 300)}` : '';
  throw invalid(`The address answers with ${root.name}, not with capabilities of a WMS or WMTS${why}.`);
}

async function readRoot(bytes: Buffer, keep?: KeepElement): Promise<XmlElement> {
  try {
    return await readLongXml(bytes, { ...CAPABILITIES_LIMITS, doctype: 'ignored' }, keep);
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    const { line, column } = error.place;
    throw invalid(`The answer is not XML: ${error.message} (line ${line}, column ${column}).`);
  }
}

async function importWms(
  root: XmlElement,
  { address, only, gridSets }: CapabilitiesImport,
): Promise<ImportedService> {
  const report = new ImportReport();
  const capabilities = wmsCapabilitiesOf(root);
  const base = serviceAddress(address, capabilities.mapAddress, report);
  const all = await collectYielding(capabilities.layers);
  const selection = pick(all, ({ name }) => name, only);
  const choose = createGridSetChooser(gridSets);
  const missing = new MissingGridSets();
  const layers = await readEach(selection, (layer) =>
    importWmsLayer(layer, capabilities, base, choose(layer.crs), missing, report),
  );
  missing.report(report);
  const { gridSets: missed, layers: withoutGridSet } = missing;
  const documents = { gridSets: [], layers: withoutTwins(layers, report) };
  const about = { names: all.map(({ name }) => name), sequence: sequenceOf(root) };
  return { ...documents, ...about, missing: missed, withoutGridSet, report };
}

async function importWmts(
  root: XmlElement,
  { address, only, gridSets }: CapabilitiesImport,
): Promise<ImportedService> {
  const report = new ImportReport();
  const { layers: known, queryAddress } = await wmtsCapabilitiesOf(root);
  const fitting = new FittingGridSets(gridSets, report);
  const isDocument = /\.xml$/i.test(address.pathname);
  const base = isDocument ? address.href : serviceAddress(address, queryAddress, report);
  const selection = pick([...known.values()], ({ id }) => id, only);
  const layers = await readEach(selection, (layer) => importWmtsLayer(layer, base, fitting, report));
  const documents = { gridSets: fitting.declared, layers: withoutTwins(layers, report) };
  const about = { names: [...known.keys()], sequence: sequenceOf(root) };
  // No grid set can be missing: tile matrix sets become grid sets.
  return { ...documents, ...about, missing: [], withoutGridSet: [], report };
}

/** OGC 06-121r3, 7.3.4: a server that numbers its configuration raises the number with each change. */
function sequenceOf({ attributes }: XmlElement): string | null {
  return attributes.get('updateSequence') || null;
}

async function readEach<Layer>(
  layers: readonly Layer[],
  read: (layer: Layer) => ImportedDocument | null,
): Promise<readonly ImportedDocument[]> {
  const documents = function* () {
    for (const layer of layers) yield read(layer);
  };
  return (await collectYielding(documents())).filter((document) => document !== null);
}

/** Behind a proxy a document may name a host that is reachable only inside; the document's own address is reachable. */
function serviceAddress(address: URL, declared: string | null, report: ImportReport): string {
  const own = new URL(address.href);
  for (const key of [...own.searchParams.keys()]) {
    if (REQUEST_PARAMETERS.test(key)) own.searchParams.delete(key);
  }
  const resolved =
    declared !== null && URL.canParse(declared, address.href) ? new URL(declared, address.href) : null;
  if (resolved?.origin === own.origin && trimEndOf(resolved.search, /[?&]/) !== '')
    return trimEndOf(resolved.href, /[?&]/);
  if (resolved && resolved.origin !== own.origin) {
    const what = `is at ${resolved.origin}; the address that was read is used`;
    report.about('service').changed('OnlineResource', what);
  }
  return trimEndOf(own.href, /[?&]/);
}

function pick<Layer>(
  layers: readonly Layer[],
  nameOf: (layer: Layer) => string,
  only: CapabilitiesImport['only'],
): readonly Layer[] {
  if (only === null) return layers;
  if (typeof only === 'function') return layers.filter((layer) => only(nameOf(layer)));
  const byName = new Map(layers.map((layer) => [nameOf(layer), layer]));
  return only.map((name) => {
    const layer = byName.get(name);
    if (layer) return layer;
    throw invalid(`The service has no layer ${name}; ${hintFor(name, [...byName.keys()])}`);
  });
}

function wholeText(root: XmlElement): string {
  return [root.text.trim(), ...root.children.map(wholeText)].filter((text) => text !== '').join(' ');
}
