// Finds regular expressions whose time grows faster than the text, so that a client's text could block the server: nested
// or adjacent unbounded repeats, and searches that start again within the text they have just read.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { getConsumedChars, isPotentiallyEmpty, toCache } from 'regexp-ast-analysis';
import { parseAst } from 'rolldown/parseAst';
import { analyse } from 'scslre';
import { filesUnder, root, runCommand, say } from './steps.mjs';

const PLACES = ['src', 'web/src'];
const CODE = /(?<!\.test)\.tsx?$/;

await runCommand(async () => {
  const chosen = process.argv.slice(2);
  const files = chosen.length > 0 ? chosen : PLACES.flatMap((place) => [...filesUnder(join(root, place))]);
  const found = files.filter((path) => CODE.test(path)).flatMap(faultsIn);
  for (const fault of found) say(fault);
  process.exitCode = found.length > 0 ? 1 : 0;
});

function faultsIn(path) {
  const text = readFileSync(path, 'utf8');
  const nodes = [...nodesOf(parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' }))];
  return nodes.flatMap((node) => {
    const fault = faultOf(node);
    if (!fault) return [];
    const line = text.slice(0, node.start).split('\n').length;
    return [`${relative(root, path)}:${line}: ${text.slice(node.start, node.end)}: ${fault}`];
  });
}

function* nodesOf(value) {
  if (value === null || typeof value !== 'object') return;
  if (value.type) yield value;
  for (const inner of Object.values(value)) yield* nodesOf(inner);
}

function faultOf({ callee, regex }) {
  if (callee?.name === 'RegExp') return 'made while running, so it cannot be checked';
  if (!regex) return null;
  const { parsed, reports } = analyse({ source: regex.pattern, flags: regex.flags });
  const [report] = reports;
  if (report) return `takes long over many ${JSON.stringify(report.character.pick)}`;
  const repeat = parsed.flags.sticky ? null : repeatedSearch(parsed);
  return repeat && `after each beginning, ${repeat} may read the rest of the text, and fail`;
}

/**
 * An unbounded repeat that can also read the elements before it, with a match that can fail after it: in
 * `"(?:[^"\\]|\\.)*"` over `\"\"\"`, each quotation mark starts a search to the end. scslre finds such repeats of one
 * character only.
 */
function repeatedSearch({ pattern, flags: plain }) {
  const flags = toCache(plain);
  const canBeEmpty = (element) => isPotentiallyEmpty(element, flags);
  const charsOf = (element) => getConsumedChars(element, flags).chars;

  function inAlternatives({ alternatives }, before, fails) {
    for (const { elements } of alternatives) {
      const found = inElements(elements, before, fails);
      if (found) return found;
    }
    return null;
  }

  function inElements(elements, before, fails) {
    for (const [i, element] of elements.entries()) {
      const rest = elements.slice(i + 1);
      const mayFail = fails || rest.some((next) => next.type === 'Assertion' || !canBeEmpty(next));
      const ahead = [...before, ...elements.slice(0, i).flatMap(flat)];
      const found = inElement(element, ahead, mayFail);
      if (found) return found;
    }
    return null;
  }

  function inElement(element, before, fails) {
    if (element.alternatives) return inAlternatives(element, before, fails || element.type === 'Assertion');
    if (element.type !== 'Quantifier') return null;
    if (element.max !== Infinity) return inElement(element.element, before, fails);
    return fails && before.every((one) => isReadBy(one, charsOf(element.element))) ? element.raw : null;
  }

  function isReadBy(element, chars) {
    if (element.type === 'Assertion') return !stopsSearch(element, chars);
    return canBeEmpty(element) || !charsOf(element).isDisjointWith(chars);
  }

  /** The start of the text, or `(?<!x)` before `x+`: no search can start within the repeat. */
  function stopsSearch({ kind, negate, alternatives }, chars) {
    if (kind === 'start') return !plain.multiline;
    if (kind !== 'lookbehind' || !negate) return false;
    return alternatives.some(
      ({ elements: [only, more] }) => only && !more && chars.isSubsetOf(charsOf(only)),
    );
  }

  return inAlternatives(pattern, [], false);
}

/** The elements of a group one by one, if it has no alternatives. */
function flat(element) {
  const isPlain = element.type === 'Group' || element.type === 'CapturingGroup';
  return isPlain && element.alternatives.length === 1
    ? element.alternatives[0].elements.flatMap(flat)
    : [element];
}
