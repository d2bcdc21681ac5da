import { isMap, isScalar, LineCounter, type Node, type Pair, parseDocument } from 'yaml';
import type { ValuePath } from '../lib/value-path.ts';
import { readYamlQuickly } from './read-yaml-quickly.ts';

export interface YamlFile {
  readonly value: unknown;
  /** `tilewarden.yaml:12:5` for what stands at a path, or for the nearest thing around it that is there. */
  placeOf(path: ValuePath): string;
  /** The same, for a key rather than its value. */
  placeOfKey(path: ValuePath, key: string): string;
  /** Faults of the YAML itself, with their place. */
  readonly problems: readonly string[];
}

/** A hundred aliases are plenty; a file that multiplies itself by them is refused. */
const MAX_ALIASES = 100;

/** Places are looked for only when somebody asks: most files are right, and finding places takes most of the time. */
export function parseYamlFile(name: string, text: string): YamlFile {
  let parsed: ParsedFile | null = null;
  const thoroughly = () => {
    parsed ??= parseThoroughly(name, text);
    return parsed;
  };
  const quick = readYamlQuickly(text);
  const { value, problems } = quick ? { value: quick.value ?? {}, problems: [] } : thoroughly().read();
  return {
    value,
    problems,
    placeOf: (path) => thoroughly().placeOf(path),
    placeOfKey: (path, key) => thoroughly().placeOfKey(path, key),
  };
}

interface ParsedFile extends Pick<YamlFile, 'placeOf' | 'placeOfKey'> {
  read(): Pick<YamlFile, 'value' | 'problems'>;
}

function parseThoroughly(name: string, text: string): ParsedFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const placeAt = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${line}:${col}`;
  };

  function nodeAt(path: ValuePath): Node | null {
    for (let length = path.length; length >= 0; length--) {
      const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
      if (isNodeWithRange(node)) return node;
    }
    return null;
  }

  return {
    read() {
      const problems = document.errors.map((error) => `${placeAt(error.pos[0])}  ${error.message}`);
      if (problems.length > 0) return { value: null, problems };
      return readValue(name, () => document.toJS({ maxAliasCount: MAX_ALIASES }));
    },
    placeOf(path) {
      const key = path.at(-1);
      const parent = path.slice(0, -1);
      if (typeof key === 'string' && !isNodeWithRange(document.getIn(path, true)))
        return this.placeOf(parent);
      return placeAt(nodeAt(path)?.range?.[0] ?? 0);
    },
    placeOfKey(path, key) {
      const map = path.length === 0 ? document.contents : document.getIn(path, true);
      const pair = isMap(map) ? map.items.find((item) => keyOf(item) === key) : undefined;
      const node = pair?.key;
      return isNodeWithRange(node) ? placeAt(node.range?.[0] ?? 0) : this.placeOf(path);
    },
  };
}

function readValue(name: string, read: () => unknown): { value: unknown; problems: readonly string[] } {
  try {
    return { value: read() ?? {}, problems: [] };
  } catch (error) {
    return { value: null, problems: [`${name}  ${error instanceof Error ? error.message : String(error)}`] };
  }
}

function keyOf(pair: Pair): unknown {
  return isScalar(pair.key) ? pair.key.value : pair.key;
}

function isNodeWithRange(node: unknown): node is Node {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);
}
