import { CORE_SCHEMA, dump, load, type State, Type, YAMLException } from 'js-yaml';
import { isRecord, type ValuePath } from './value-path.ts';

export interface YamlFile {
  readonly value: unknown;
  /** `tilewarden.yaml:12:5` for the value at a path, or for the nearest value around it. */
  placeOf(path: ValuePath): string;
  /** The same, for a key rather than its value. */
  placeOfKey(path: ValuePath, key: string): string;
  /** Faults of the YAML itself, with their place. */
  readonly problems: readonly string[];
}

/** YAML 1.2, 10.3.2, except that digits after a leading 0, as in postcodes, are text: YAML 1.1 reads them as octal. */
const INTEGER = /^[-+]?(?:0|[1-9][0-9]*|0x[0-9a-f]+|0o[0-7]+|0b[01]+)$/i;
const FLOAT = /^[-+]?(?:(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:e[-+]?[0-9]+)?|[0-9]+e[-+]?[0-9]+|\.inf)$|^\.nan$/i;
const READ_SCHEMA = CORE_SCHEMA.extend({
  implicit: [numberType('int', INTEGER), numberType('float', FLOAT)],
});

function numberType(name: string, pattern: RegExp): Type {
  const magnitude = (text: string) => (/^\.inf$/i.test(text) ? Number.POSITIVE_INFINITY : Number(text));
  return new Type(`tag:yaml.org,2002:${name}`, {
    kind: 'scalar',
    resolve: (text: unknown) => typeof text === 'string' && pattern.test(text),
    construct: (text: string) => magnitude(text.replace(/^[-+]/, '')) * (text.startsWith('-') ? -1 : 1),
  });
}

/** Limit of values that aliases add, if each is written out: what reads the file walks through all of them. */
const MAX_REPEATED = 100_000;

/** Positions are computed only on request: most files are valid. */
export function parseYamlFile(name: string, text: string): YamlFile {
  let tree: YamlNode | null = null;
  const nodes = () => {
    tree ??= readNodes(text);
    return tree;
  };
  const placeAt = (offset: number) => {
    const before = text.slice(0, offset).split('\n');
    return `${name}:${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
  };
  return {
    ...readValue(name, text),
    placeOf: (path) => placeAt(nearestNode(nodes(), path).start),
    placeOfKey: (path, key) => {
      const map = nearestNode(nodes(), path);
      return placeAt((map.keys.get(key) ?? map).start);
    },
  };
}

function readValue(name: string, text: string): Pick<YamlFile, 'value' | 'problems'> {
  try {
    const value = load(text, { schema: READ_SCHEMA }) ?? {};
    // Every value that is written has at least one character.
    if (expandedSize(value) <= text.length + MAX_REPEATED) return { value, problems: [] };
    return { value: null, problems: [`${name}  has more than ${MAX_REPEATED} values by its aliases`] };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const place = error.mark ? `:${error.mark.line + 1}:${error.mark.column + 1}` : '';
    return { value: null, problems: [`${name}${place}  ${error.reason}`] };
  }
}

/** How many values it has with those that it refers to; infinite if one contains itself. */
function expandedSize(value: unknown, known = new Map<unknown, number>()): number {
  if (typeof value !== 'object' || value === null) return 1;
  const before = known.get(value);
  if (before !== undefined) return before;
  known.set(value, Number.POSITIVE_INFINITY);
  const size = Object.values(value).reduce<number>((sum, one) => sum + expandedSize(one, known), 1);
  known.set(value, size);
  return size;
}

interface YamlNode {
  /** Offsets in the text. */
  readonly start: number;
  readonly end: number;
  readonly result: unknown;
  /** Values of a map, by key; items of a list, by number. */
  readonly children: ReadonlyMap<string | number, YamlNode>;
  readonly keys: ReadonlyMap<string, YamlNode>;
}

const NO_NODES: ReadonlyMap<string, YamlNode> = new Map();

function nearestNode(root: YamlNode, path: ValuePath): YamlNode {
  let node = root;
  for (const step of path) {
    const child = node.children.get(step);
    if (!child) return node;
    node = child;
  }
  return node;
}

/** Follows the parser, which reports every node that it opens and closes. */
function readNodes(text: string): YamlNode {
  const open: { readonly start: number; readonly inside: YamlNode[] }[] = [];
  let root: YamlNode = { start: 0, end: 0, result: null, children: NO_NODES, keys: NO_NODES };
  load(text, {
    schema: READ_SCHEMA,
    listener(event, state) {
      if (event === 'open')
        return void open.push({ start: startOfContent(text, state.position), inside: [] });
      const { start, inside } = open.pop() ?? { start: 0, inside: [] };
      root = closedNode(text, start, inside, state);
      open.at(-1)?.inside.push(root);
    },
  });
  return root;
}

function closedNode(text: string, start: number, inside: readonly YamlNode[], state: State): YamlNode {
  const { result, position: end } = state;
  // The parser first tries every node as the key of a map; then the node itself is the only one inside.
  const itself = inside.find(
    (node) => typeof result === 'object' && result !== null && node.result === result,
  );
  if (itself) return itself;
  const node = { start, end, result, children: NO_NODES, keys: NO_NODES };
  if (Array.isArray(result)) return { ...node, children: new Map(inside.entries()) };
  return isRecord(result) ? { ...node, ...pairsOf(text, inside) } : node;
}

/** A node followed by ':' is a key, and the next one its value. An empty value has the place of its key. */
function pairsOf(text: string, inside: readonly YamlNode[]): Pick<YamlNode, 'children' | 'keys'> {
  const children = new Map<string, YamlNode>();
  const keys = new Map<string, YamlNode>();
  let key: YamlNode | null = null;
  for (const node of inside) {
    if (key && text.slice(key.end, node.start).includes(':')) {
      children.set(String(key.result), node.result === null ? key : node);
      key = null;
      continue;
    }
    keys.set(String(node.result), node);
    key = node;
  }
  return { children, keys };
}

/** The parser opens a node before the spaces and comments in front of it. */
function startOfContent(text: string, position: number): number {
  const blank = /(?:\s|#.*)*/y;
  blank.lastIndex = position;
  return position + (blank.exec(text)?.[0].length ?? 0);
}

/** Deeper values are written on one line, so that each setting of a layer has one. */
const NESTED_ON_LINES = 3;

/** The text of a configuration file, or of a part of one. */
export function writeSettingsFile(tree: object): string {
  return dump(tree, { schema: CORE_SCHEMA, noRefs: true, lineWidth: -1, flowLevel: NESTED_ON_LINES });
}
