export type ValuePath = readonly (string | number)[];

/** `layers[2].gridSets[0].zoomStop`; a key that is not a plain word is quoted: `upstreams['a.b:80']`. */
export function printPath(path: ValuePath): string {
  return path.map(printStep).join('').replace(/^\./, '');
}

function printStep(step: string | number): string {
  if (typeof step === 'number') return `[${step}]`;
  return /^[A-Za-z_][\w-]*$/.test(step) ? `.${step}` : `['${step}']`;
}

export function valueAt(tree: unknown, path: ValuePath): unknown {
  let value = tree;
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function keysOf<T extends object>(record: T): readonly (keyof T & string)[] {
  return Object.keys(record) as (keyof T & string)[];
}
