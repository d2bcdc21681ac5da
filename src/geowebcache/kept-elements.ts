import { hideSecrets } from '../lib/hide-secrets.ts';
import type { DocumentNode } from './document-node.ts';
import type { WireElement } from './wire-element.ts';

/** Plain data: it is kept beside a declaration. */
export interface PlainElement {
  readonly name: string;
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly PlainElement[];
}

/** An element without a place in a declaration. It is written back to its place in the document. */
export interface KeptElement {
  /** The elements around it, below the root; an entry of a list with its key, e.g. `gridSubset#EPSG:4326`. */
  readonly path: readonly string[];
  readonly element: PlainElement;
}

export interface ReadWarning {
  /** E.g. `requestFilters.wmsRasterFilter`. */
  readonly element: string;
  readonly what: string;
}

/** The elements that are read, by name; `null` for one that holds a value. */
export interface Shape {
  readonly [name: string]: Shape | null;
}

/** Elements that hold a value each, by their names with spaces between. */
export function valuesNamed(names: string): Shape {
  return Object.fromEntries(names.split(' ').map((name) => [name, null]));
}

const KEYS: readonly string[] = ['key', 'gridSetName', 'name', 'feedUrl'];
const SHOWN_SECRET = '********';

export class Aside {
  readonly kept: KeptElement[] = [];
  readonly warnings: ReadWarning[] = [];

  keep(path: readonly string[], element: WireElement, what: string): void {
    this.kept.push({ path, element: plainElementOf(element) });
    this.warn([...path, element.name], what);
  }

  warn(path: readonly string[], what: string): void {
    this.warnings.push({ element: path.map((step) => step.replace(/#.*/s, '')).join('.'), what });
  }

  /** Keeps all elements outside the shape. `why`: the effect that an element would have had. */
  keepStrays(element: WireElement, shape: Shape, why: Readonly<Record<string, string>>): void {
    this.#visit(element, shape, [], why);
  }

  #visit(
    element: WireElement,
    shape: Shape,
    path: readonly string[],
    why: Readonly<Record<string, string>>,
  ): void {
    for (const child of element.children) {
      if (child.name.startsWith('@') || child.name === '') continue;
      const inner = shape[child.name];
      if (inner === undefined) this.keep(path, child, why[child.name] ?? 'is not known here');
      if (inner) this.#visitInner(child, inner, [...path, stepOf(child)], why);
    }
  }

  /** JSON may have the entries of a list without their names. */
  #visitInner(
    element: WireElement,
    shape: Shape,
    path: readonly string[],
    why: Readonly<Record<string, string>>,
  ): void {
    const [entry, ...others] = Object.entries(shape);
    const [name, inner] = entry ?? [];
    const bare = others.length === 0 && name && inner && !element.children.some((one) => one.name === name);
    if (!bare) {
      this.#visit(element, shape, path, why);
      return;
    }
    this.#visit(element, inner, [...path.slice(0, -1), element.name, stepOf({ ...element, name })], why);
  }
}

export function withKept(root: DocumentNode, kept: readonly KeptElement[]): DocumentNode {
  return kept.reduce((node, { path, element }) => added(node, path, nodeOfPlain(element)), root);
}

function added(node: DocumentNode, path: readonly string[], one: DocumentNode): DocumentNode {
  const children = typeof node.content === 'object' ? node.content : [];
  const [step, ...rest] = path;
  if (step === undefined) return { ...node, content: [...children, one] };
  const at = children.findIndex((child) => stepOfNode(child) === step || child.name === step);
  const child = children[at];
  if (child) return { ...node, content: children.with(at, added(child, rest, one)) };
  const parent: DocumentNode = { name: step.replace(/#.*/s, ''), content: [] };
  return { ...node, content: [...children, added(parent, rest, one)] };
}

function stepOf({ name, children }: WireElement): string {
  const key = children.find((child) => KEYS.includes(child.name));
  return key ? `${name}#${key.text.trim()}` : name;
}

function stepOfNode({ name, content }: DocumentNode): string {
  const key = typeof content === 'object' ? content.find((child) => KEYS.includes(child.name)) : undefined;
  return key ? `${name}#${key.content}` : name;
}

function plainElementOf({ name, text, attributes, children }: WireElement): PlainElement {
  const fields = children.filter((child) => child.name.startsWith('@'));
  const fromJson = fields.map((child) => [child.name.slice(1), child.text] as const);
  return {
    name,
    text: hideSecrets(text.trim(), SHOWN_SECRET),
    attributes: Object.fromEntries([...(attributes ?? []), ...fromJson]),
    children: children.filter((child) => !fields.includes(child)).map(plainElementOf),
  };
}

function nodeOfPlain({ name, text, attributes, children }: PlainElement): DocumentNode {
  return { name, attributes, content: children.length > 0 ? children.map(nodeOfPlain) : text };
}
