import { bodyProblem, childrenNamed, type WireElement } from './wire-element.ts';

type Pair = readonly [name: string, value: string];

/**
 * Parameter values by name, from any of the forms that clients use:
 * `<entry><string>N</string><string>V</string></entry>`, `{"entry":[{"string":["N","V"]}]}`, a single `entry`,
 * `[["N","V"]]` and `{"N":"V"}`. Undefined when there are none.
 */
export function parametersField(parent: WireElement): ReadonlyMap<string, string> | undefined {
  const pairs = childrenNamed(parent, 'parameters').flatMap(pairsOf);
  if (pairs.length === 0) return undefined;
  return new Map(pairs);
}

function pairsOf(parameters: WireElement): readonly Pair[] {
  if (parameters.children.length === 0 && parameters.text.trim() !== '') {
    throw bodyProblem('parameters must have entries', parameters.place);
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
  const whole = name && value && !surplus && name.children.length === 0 && value.children.length === 0;
  if (whole) return [name.text.trim(), value.text];
  throw bodyProblem('an entry of parameters must have two texts, a name and a value', entry.place);
}

function plainPair(field: WireElement): Pair {
  if (field.children.length === 0) return [field.name, field.text];
  throw bodyProblem(`the parameter ${field.name} must be a text`, field.place);
}
