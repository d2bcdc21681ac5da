import type { WireElement } from './wire-element.ts';

export interface ReadWarning {
  /** The element and those around it, below the root, e.g. `['requestFilters', 'wmsRasterFilter']`. */
  readonly path: readonly string[];
  readonly what: string;
  /** The element has no effect on the declaration. */
  readonly ignored: boolean;
}

/** The elements that are read, by name; `null` for one with a value. */
export interface Shape {
  readonly [name: string]: Shape | null;
}

/** The shape of elements with a value each; `names` are separated by spaces. */
export function valuesNamed(names: string): Shape {
  return Object.fromEntries(names.split(' ').map((name) => [name, null]));
}

/** Warnings about elements with a different effect than in GeoWebCache, or none. */
export class ReadWarnings {
  readonly all: ReadWarning[] = [];

  changed(path: readonly string[], what: string): void {
    this.all.push({ path, what, ignored: false });
  }

  ignored(path: readonly string[], why = ''): void {
    this.all.push({ path, what: why === '' ? 'has no effect' : `has no effect: ${why}`, ignored: true });
  }

  /** 0 and less mean the default. */
  positive(path: readonly string[], value: number | undefined): number | undefined {
    if (value === undefined || value > 0) return value;
    this.changed(path, `is ${value}; the default is used`);
    return undefined;
  }

  /** Reports all elements outside the shape. `why`: reasons by name; an element without one is unknown. */
  ignoredOutside(
    element: WireElement,
    shape: Shape,
    why: Readonly<Record<string, string>>,
    path: readonly string[] = [],
  ): void {
    for (const child of element.children) {
      if (child.name.startsWith('@') || child.name === '') continue;
      const inner = shape[child.name];
      const place = [...path, child.name];
      if (inner === undefined) this.ignored(place, why[child.name] ?? 'it is not known here');
      if (inner) this.ignoredWithin(child, inner, why, place);
    }
  }

  /** As `ignoredOutside` for a list: JSON may have its entries without their names. */
  ignoredWithin(
    element: WireElement,
    shape: Shape,
    why: Readonly<Record<string, string>>,
    path: readonly string[],
  ): void {
    const [entry, ...others] = Object.entries(shape);
    const [name, inner] = entry ?? [];
    const bare = others.length === 0 && name && inner && !element.children.some((one) => one.name === name);
    if (bare) this.ignoredOutside(element, inner, why, [...path, name]);
    else this.ignoredOutside(element, shape, why, path);
  }
}
