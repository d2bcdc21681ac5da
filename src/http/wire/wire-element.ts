import { TilewardenError } from '../../domain/errors.ts';
import { shortened } from '../../domain/shortened.ts';

/** Where something stands in a body, both counted from 1. */
export interface WirePlace {
  readonly line: number;
  readonly column: number;
}

/**
 * What XML and JSON have in common, so that whoever reads a document reads both. A JSON object is an element
 * whose fields are its children; a list is its field repeated; a list within a list has children without a name;
 * what is null is absent.
 */
export interface WireElement {
  readonly name: string;
  readonly text: string;
  readonly children: readonly WireElement[];
  readonly place: WirePlace;
  /** Fields that are lists without an entry: they leave no child behind. */
  readonly emptyLists?: readonly string[];
}

/** For whatever a body has wrong: says where. */
export function bodyProblem(message: string, { line, column }: WirePlace): TilewardenError {
  return new TilewardenError('request-invalid', `${message} (line ${line}, column ${column})`);
}

export function childrenNamed(parent: WireElement, name: string): readonly WireElement[] {
  return parent.children.filter((child) => child.name === name);
}

/** Null when it is absent; a problem when it is there twice. */
export function onlyChild(parent: WireElement, name: string): WireElement | null {
  const [first = null, second] = childrenNamed(parent, name);
  if (second) throw bodyProblem(`${name} is given more than once`, second.place);
  return first;
}

export function textOf(element: WireElement): string {
  if (element.children.length === 0) return element.text.trim();
  throw bodyProblem(`${element.name} must be a text`, element.place);
}

export function textField(parent: WireElement, name: string): string | undefined {
  const child = onlyChild(parent, name);
  return child ? textOf(child) : undefined;
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

export function numberOf(element: WireElement): number {
  const text = textOf(element);
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (Number.isFinite(value)) return value;
  throw bodyProblem(`${element.name} must be a number, not "${shortened(text)}"`, element.place);
}

export function integerField(parent: WireElement, name: string): number | undefined {
  const child = onlyChild(parent, name);
  if (!child) return undefined;
  const text = textOf(child);
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw bodyProblem(`${name} must be a whole number, not "${shortened(text)}"`, child.place);
}
