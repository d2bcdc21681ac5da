import { bodyProblem, childrenNamed, type WireElement } from '../../geowebcache/wire-element.ts';

type Pair = readonly [name: string, value: string];

/**
 * Parameter values by name, from any of the forms that clients use:
 * `<entry><string>N</string><string>V</string></entry>`, `{"entry":[{"string":["N","V"]}]}`, a single `entry`,
 * `[["N","V"]]` and `{"N":"V"}`. Undefined when the field is absent; in XML it may be empty.
 */
export function parametersField(parent: WireElement): ReadonlyMap<string, string> | undefined {
  const given = childrenNamed(parent, 'parameters');
  return given.length === 0 ? undefined : new Map(given.flatMap(pairsOf));
}

/** For what removes tiles: an element that was emptied would select another combination than the one it held. */
export function refuseEmptyParameters(parent: WireElement): void {
  const [first] = childrenNamed(parent, 'parameters');
  if (!first || first.nothing || first.children.length > 0) return;
  throw bodyProblem('parameters must have entries; leave it out for the default combination', first.place);
}

function pairsOf(parameters: WireElement): readonly Pair[] {
  const { children, text, nothing, place } = parameters;
  if (children.length === 0 && (text.trim() !== '' || nothing)) {
    throw bodyProblem(`parameters must have entries, not ${nothing ?? 'a text'}`, place);
  }
  if (parameters.children.some((child) => child.name === '')) return [pairOf(parameters)];
  // An attribute of XML that some converters put into JSON, e.g. "@class".
  const entries = parameters.children.filter((child) => !child.name.startsWith('@'));
  return entries.map((child) =>
    child.name === 'entry' && child.children.length > 0 ? pairOf(child) : plainPair(child),
  );
}

/** Two texts, a name and its value. Of the value every space counts. */
function pairOf(entry: WireElement): Pair {
  const [name, value, surplus] = entry.children;
  const isText = (one: WireElement) => one.children.length === 0 && !one.nothing;
  const whole = name && value && !surplus && isText(name) && isText(value);
  if (whole) return [name.text.trim(), value.text];
  throw bodyProblem('an entry of parameters must have two texts, a name and a value', entry.place);
}

function plainPair(field: WireElement): Pair {
  if (field.children.length === 0 && !field.nothing) return [field.name, field.text];
  throw bodyProblem(
    `the parameter ${field.name} must be a text, not ${field.nothing ?? 'an object'}`,
    field.place,
  );
}
