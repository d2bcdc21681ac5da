/**
 * Atom and RSS 2.0 with GeoRSS Simple, GML or W3C points. No document type, and bounded in size and depth. Entries are read as
 * they come, in turns of the event loop, and keep few points: a shape of many becomes its box.
 */
import { createHash } from 'node:crypto';
import type { Polygon } from '../../domain/bounds.ts';
import type { ChangedPlace } from '../../domain/place-in-grid-set.ts';
import { countPoints, MAX_POINTS, withinLimit } from '../../domain/place-in-grid-set.ts';
import { type KeepElement, readLongXml } from '../../lib/xml/read-xml.ts';
import { childOf, textIn, type XmlElement } from '../../lib/xml/xml-element.ts';
import { createPace, type Pace } from '../../lib/yielding.ts';
import { shapesIn } from './georss-shapes.ts';

export interface GeoRssEntry {
  readonly id: string;
  /** Milliseconds since 1970; 0 when it has none. */
  readonly at: number;
  /** Or why it cannot be used. */
  readonly place: ChangedPlace | string;
}

const LIMITS = { bytes: 32 * 2 ** 20, depth: 40, elements: 2_000_000, attributes: 64 };
const ENTRIES = ['entry', 'item'];
const PARENTS = ['feed', 'channel', 'RDF'];
const ROOTS = ['feed', 'rss', 'RDF'];
const MAX_ENTRIES = 100_000;
/** Further elements of an entry are left out. */
const MAX_ELEMENTS = 50_000;
/** Limit for all entries together; further shapes become boxes. */
const MAX_POINTS_OF_ALL = 200_000;
const MAX_ID_LENGTH = 500;
const MAX_TIME_LENGTH = 100;
/** Characters: a few milliseconds. */
const PER_TURN = 32 * 1024;

/** Throws `XmlError`, or an error if it is neither Atom nor RSS. `srs`: the EPSG code of all geometries. */
export async function readGeoRss(bytes: Buffer, srs: number): Promise<readonly GeoRssEntry[]> {
  const entries: GeoRssEntry[] = [];
  const pace = createPace(PER_TURN);
  let left = MAX_POINTS_OF_ALL;
  let elements = 0;
  let found: { readonly entry: XmlElement; readonly isWhole: boolean }[] = [];
  // Entries are taken out as they are read, so that the tree stays small.
  const keep: KeepElement = (element, parent) => {
    if (!PARENTS.includes(parent.name)) return ++elements > MAX_ELEMENTS ? null : element;
    if (ENTRIES.includes(element.name)) found.push({ entry: element, isWhole: elements <= MAX_ELEMENTS });
    elements = 0;
    return null;
  };

  async function readFound(): Promise<void> {
    const read = found;
    found = [];
    for (const { entry, isWhole } of read) {
      const { place, ...rest } = await readEntry(entry, isWhole, srs, pace);
      const few = typeof place === 'string' ? place : withFewPoints(place, Math.min(left, MAX_POINTS));
      if (typeof few !== 'string') left = Math.max(0, left - countPoints(few.polygons));
      entries.push({ ...rest, place: few });
      await pace(1);
    }
    if (entries.length > MAX_ENTRIES) throw new Error(`the document has more than ${MAX_ENTRIES} entries`);
    await pace(PER_TURN);
  }

  const root = await readLongXml(bytes, LIMITS, keep, readFound);
  if (ROOTS.includes(root.name)) return entries;
  throw new Error(`the document is neither Atom nor RSS: its root is <${root.name.slice(0, 50)}>`);
}

function withFewPoints({ srs, polygons }: ChangedPlace, max: number): ChangedPlace {
  return { srs, polygons: withinLimit(polygons, max) };
}

async function readEntry(entry: XmlElement, isWhole: boolean, srs: number, pace: Pace): Promise<GeoRssEntry> {
  const ownId = textIn(entry, 'id') || textIn(entry, 'guid') || linkOf(entry);
  const id = ownId === '' || ownId.length > MAX_ID_LENGTH ? await digestOf(entry, pace) : ownId;
  const time = ['updated', 'pubDate', 'date', 'published'].map((name) => textIn(entry, name)).find(Boolean);
  const at = Date.parse(time?.slice(0, MAX_TIME_LENGTH) ?? '');
  return { id, at: Number.isNaN(at) ? 0 : at, place: await readPlace(entry, isWhole, srs, id, pace) };
}

function linkOf(entry: XmlElement): string {
  return textIn(entry, 'link') || (childOf(entry, 'link')?.attributes.get('href') ?? '');
}

async function digestOf(entry: XmlElement, pace: Pace): Promise<string> {
  const hash = createHash('sha256');
  async function add({ name, text, children }: XmlElement): Promise<void> {
    hash.update(`<${name}>`);
    for (let at = 0; at < text.length; at += PER_TURN) {
      const part = text.slice(at, at + PER_TURN);
      hash.update(part);
      await pace(part.length);
    }
    for (const child of children) await add(child);
  }
  await add(entry);
  return hash.digest('hex');
}

async function readPlace(
  entry: XmlElement,
  isWhole: boolean,
  srs: number,
  id: string,
  pace: Pace,
): Promise<ChangedPlace | string> {
  try {
    if (!isWhole) throw new Error(`has more than ${MAX_ELEMENTS} elements`);
    const polygons: Polygon[] = [];
    for await (const polygon of shapesIn(entry, srs, pace)) polygons.push(polygon);
    if (polygons.length === 0) throw new Error('has no geometry');
    return { srs, polygons };
  } catch (error) {
    return `entry ${id}: ${error instanceof Error ? error.message : error}`;
  }
}
