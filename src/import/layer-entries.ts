import { createHash } from 'node:crypto';
import type { KeepElement } from '../lib/xml/read-xml.ts';
import { textIn, type XmlElement } from '../lib/xml/xml-element.ts';
import { createPace } from '../lib/yielding.ts';

/** An innermost `Layer` element of capabilities. */
interface LayerEntry {
  /** Digest of its text, and of all that it may inherit from. */
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

const LAYER_TAG = /<(\/?)(?:[\w.-]{1,100}:)?Layer(?=[\s/>])/y;
/** Sections that may contain the text of a tag. */
const SKIPPED_SECTIONS = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const;
const TOKENS_PER_TURN = 300;
/** OGC 06-121r3, 7.3.4: rises with changes of any layer. */
const SEQUENCE = /\supdateSequence\s*=\s*("[^"]*"|'[^']*')/;
const STUB = '<Layer/>';

/**
 * Finds the innermost layers of capabilities without parsing them, which takes seconds for ten thousand, so that only a
 * document without the unchanged layers needs to be parsed.
 */
export class LayerEntries {
  readonly #text: string;
  readonly #entries: readonly LayerEntry[];

  private constructor(text: string, entries: readonly LayerEntry[]) {
    this.#text = text;
    this.#entries = entries;
  }

  /** Yields to the event loop. */
  static async find(bytes: Buffer): Promise<LayerEntries> {
    // In every encoding that is read, except UTF-16, tags are ASCII. Latin-1 keeps all other bytes as they are.
    const text = bytes.toString('latin1');
    const isPlain = !text.startsWith('\xff\xfe') && !text.startsWith('\xfe\xff');
    const doctype = text.indexOf('<!DOCTYPE');
    const hasEntities = doctype >= 0 && /^[^>]*\[/.test(text.slice(doctype));
    return new LayerEntries(text, isPlain && !hasEntities ? await findEntries(text) : []);
  }

  /** In the document's order. */
  get keys(): readonly string[] {
    return this.#entries.map(({ key }) => key);
  }

  /** The document without some of its layers. Parsing it with `keep` collects the names of the others in `names`. */
  without(isLeftOut: (key: string) => boolean) {
    const pieces: string[] = [];
    let at = 0;
    for (const { key, start, end } of this.#entries) {
      if (!isLeftOut(key)) continue;
      pieces.push(this.#text.slice(at, start), STUB);
      at = end;
    }
    const names: { readonly key: string; readonly name: string }[] = [];
    const parents = new Set<XmlElement>();
    const entries = this.#entries.values();
    const keep: KeepElement = (element, parent) => {
      if (element.name !== 'Layer') return element;
      parents.add(parent);
      if (parents.has(element)) return element;
      const key = entries.next().value?.key ?? '';
      if (isLeftOut(key)) return null;
      names.push({ key, name: textIn(element, 'Name') || textIn(element, 'Identifier') });
      return element;
    };
    return { bytes: Buffer.from(pieces.join('') + this.#text.slice(at), 'latin1'), keep, names };
  }
}

interface OpenLayer {
  readonly start: number;
  /** Its place among the layers that contain others; null: it contains none so far. */
  parent: number | null;
}

async function findEntries(text: string): Promise<readonly LayerEntry[]> {
  const found: { start: number; end: number; parent: number | null }[] = [];
  const open: OpenLayer[] = [];
  let parents = 0;
  const pace = createPace(TOKENS_PER_TURN);
  const begin = (start: number) => {
    const above = open.at(-1);
    if (above && above.parent === null) above.parent = parents++;
    open.push({ start, parent: null });
  };
  const finish = (end: number) => {
    const layer = open.pop();
    if (layer?.parent === null) found.push({ start: layer.start, end, parent: open.at(-1)?.parent ?? null });
  };
  for (const { start, end, kind } of layerTags(text)) {
    await pace(1);
    if (kind === 'open' || kind === 'empty') begin(start);
    if (kind === 'close' || kind === 'empty') finish(end);
  }
  return withKeys(text, found);
}

/** Ends at an unfinished tag or comment: such a document is invalid anyway. */
function* layerTags(text: string) {
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const skipped = SKIPPED_SECTIONS.find(([begin]) => text.startsWith(begin, at));
    LAYER_TAG.lastIndex = at;
    const tag = skipped ? null : LAYER_TAG.exec(text);
    const start = at;
    if (skipped) at = endAfter(text.indexOf(skipped[1], at), skipped[1].length);
    else at = tag ? endOfTag(text, LAYER_TAG.lastIndex) : at + 1;
    if (at === 0) return;
    if (!tag) continue;
    const kind = tag[1] === '/' ? 'close' : text[at - 2] === '/' ? 'empty' : 'open';
    yield { start, end: at, kind } as const;
  }
}

/** The place after the tag's `>`; 0: none. Values of attributes may contain a `>`. */
function endOfTag(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const character = text[at];
    if (character === '>') return at + 1;
    if (character !== '"' && character !== "'") continue;
    at = text.indexOf(character, at + 1);
    if (at === -1) return 0;
  }
  return 0;
}

function endAfter(at: number, length: number): number {
  return at === -1 ? 0 : at + length;
}

/** Layers inherit from those around them, and all depend on the elements beside the layers. */
async function withKeys(
  text: string,
  found: readonly { start: number; end: number; parent: number | null }[],
): Promise<readonly LayerEntry[]> {
  const rest = createHash('sha1');
  let at = 0;
  const pace = createPace(TOKENS_PER_TURN);
  for (const { start, end } of found) {
    await pace(1);
    rest.update(text.slice(at, start).trim().replace(SEQUENCE, ''), 'latin1');
    at = end;
  }
  const context = rest.update(text.slice(at).trim(), 'latin1').digest('base64url');
  const entries: LayerEntry[] = [];
  for (const { start, end, parent } of found) {
    const hash = createHash('sha1').update(`${context} ${parent} `, 'latin1');
    entries.push({ key: hash.update(text.slice(start, end), 'latin1').digest('base64url'), start, end });
    await pace(1);
  }
  return entries;
}
