/**
 * The inputs of GeoServer's layers and layer groups, by its REST interface: the layer, its resource (feature type or
 * coverage) and its styles. Each becomes a digest, so that saving without a change is no change.
 */
import { createHash } from 'node:crypto';
import { getOrCreate } from '../lib/get-or-create.ts';
import { isRecord } from '../lib/value-path.ts';
import { withConcurrency } from '../lib/yielding.ts';

/** Reads paths below `/rest/`; null: there is no such resource. Other failures are thrown. */
export interface GeoServerRest {
  json(path: string): Promise<unknown>;
  text(path: string): Promise<string | null>;
}

/** Digests by style; empty: the default style. */
type Drawing = Readonly<Record<string, string>>;

interface LayerParts {
  /** Digest of everything but the styles. */
  readonly base: string;
  readonly drawing: Drawing;
}

/** Groups in groups; deeper ones are a cycle. */
const MAX_DEPTH = 10;
const LANES = 8;
/** Fields that change no picture, or change by themselves. */
const NOT_DRAWN = new Set([
  ...['dateCreated', 'dateModified', 'href', 'defaultStyle', 'styles', 'resource', 'attribution'],
  ...['title', 'abstract', 'description', 'keywords', 'metadataLinks', 'dataLinks', 'identifiers'],
  ...['internationalTitle', 'internationalAbstract', 'authorityURLs', 'advertised', 'queryable'],
]);

/** Digests by name; null: neither a layer nor a group. */
export async function readGeoServerDrawings(
  names: Iterable<string>,
  rest: GeoServerRest,
): Promise<ReadonlyMap<string, Drawing | null>> {
  const drawingOf = createDrawingReader(rest);
  const drawings = new Map<string, Drawing | null>(Array.from(names, (name) => [name, null]));
  await withConcurrency(names, LANES, async (name) => {
    drawings.set(name, await drawingOf(name));
  });
  return drawings;
}

function createDrawingReader(rest: GeoServerRest) {
  const styles = new Map<string, Promise<string>>();
  const layers = new Map<string, Promise<LayerParts | null>>();

  const styleDigest = (name: string) =>
    getOrCreate(styles, name, async () => {
      const text = await rest.text(`${workspacePath(name)}styles/${part(ownName(name))}.sld`);
      return text === null ? 'absent' : digest(plainText(text));
    });

  const layerParts = (name: string) => getOrCreate(layers, name, () => readLayer(name));

  async function readLayer(name: string): Promise<LayerParts | null> {
    const layer = field(await rest.json(`layers/${part(name)}.json`), 'layer');
    if (!isRecord(layer)) return null;
    const href = field(layer.resource, 'href');
    // Behind a proxy the link may name another host.
    const path = typeof href === 'string' ? href.replace(/^.*?\/rest\//, '') : null;
    const resource = path === null ? null : await rest.json(path);
    const base = digest(JSON.stringify([plainFields(layer), plainFields(resource)]));
    const drawing: Record<string, string> = {};
    const own = styleName(layer.defaultStyle);
    if (own !== null) drawing[''] = digest(base + (await styleDigest(own)));
    for (const style of listIn(layer.styles, 'style').map(styleName)) {
      if (style !== null) drawing[style] = digest(base + (await styleDigest(style)));
    }
    return { base, drawing };
  }

  /** Digest of a layer in a group, which may have any style; null: the default style. */
  async function styled(name: string, style: string | null): Promise<string> {
    const parts = await layerParts(name);
    if (!parts) return 'absent';
    return style === null
      ? (parts.drawing[''] ?? parts.base)
      : digest(parts.base + (await styleDigest(style)));
  }

  async function groupDigest(name: string, depth: number): Promise<string | null> {
    const path = `${workspacePath(name)}layergroups/${part(ownName(name))}.json`;
    const group = field(await rest.json(path), 'layerGroup');
    if (!isRecord(group) || depth > MAX_DEPTH) return null;
    const published = listIn(group.publishables, 'published').filter(isRecord);
    const groupStyles = listIn(group.styles, 'style').map(styleName);
    const parts: unknown[] = [group.mode ?? null, plainFields(group.bounds)];
    for (const [at, { name: inner, '@type': type }] of published.entries()) {
      const isGroup = type === 'layerGroup';
      const style = groupStyles[at] ?? null;
      parts.push(isGroup ? await groupDigest(String(inner), depth + 1) : await styled(String(inner), style));
    }
    return digest(JSON.stringify(parts));
  }

  return async (name: string): Promise<Drawing | null> => {
    const layer = await layerParts(name);
    if (layer) return layer.drawing;
    const group = await groupDigest(name, 0);
    return group === null ? null : { '': group };
  };
}

/** `topp:states` is in the workspace `topp`. */
function workspacePath(name: string): string {
  const [workspace, own] = name.split(':', 2);
  return own === undefined ? '' : `workspaces/${part(workspace ?? '')}/`;
}

function ownName(name: string): string {
  return name.replace(/^[^:]*:/, '');
}

const part = encodeURIComponent;

/** With its workspace; null: the default style of the layer. */
function styleName(style: unknown): string | null {
  if (!isRecord(style) || typeof style.name !== 'string' || style.name === '') return null;
  const workspace = isRecord(style.workspace) ? style.workspace.name : style.workspace;
  const { name } = style;
  return typeof workspace !== 'string' || name.includes(':') ? name : `${workspace}:${name}`;
}

/** GeoServer writes a list of one item as that item. */
function listIn(container: unknown, name: string): readonly unknown[] {
  const items = field(container, name) ?? [];
  return Array.isArray(items) ? items : [items];
}

function field(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

/** With sorted keys, without fields that are not drawn. */
function plainFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainFields);
  if (!isRecord(value)) return value;
  const kept = Object.keys(value).filter((key) => !NOT_DRAWN.has(key));
  return Object.fromEntries(kept.sort().map((key) => [key, plainFields(value[key])]));
}

/** Without line ends and indents, which editors change. */
function plainText(text: string): string {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n?|\n/);
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 27);
}
