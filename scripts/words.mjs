// Finds words that hide who does what, or that are no longer current; the list has a better one for each. Finds names of
// tests too that begin with a verb: a failure report shows them without their `describe`.
import { readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { filesUnder, root, runCommand, say } from './steps.mjs';

const PLACES = [
  'src',
  'packages',
  'web/src',
  'test',
  'bench',
  'scripts',
  'docs',
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
];
const READ = new Set(['.ts', '.tsx', '.mjs', '.cjs', '.md', '.yaml', '.json']);
const OWN = join(root, 'scripts', 'words.mjs');

const BETTER = {
  whoever: 'name the party: the caller, the client, the worker',
  nobody: 'name the party: no client, no writer, no caller',
  somebody: 'name the party: a user, another node, a client',
  anew: 'again',
  nought: 'zero',
  'at once': 'immediately, or concurrently, or together',
  told: 'reported, notified, or the message itself',
  scout: 'probe',
  patience: 'timeout, with its unit',
  lest: 'so that … not',
  'as good as': 'nearly',
  'that which': 'a noun',
};
const REFUSED = new RegExp(`\\b(${Object.keys(BETTER).join('|').replaceAll(' ', '\\s')})\\b`, 'gi');
/** A user of the operating system. */
const MEANT = /^User nobody$|(['`])nobody\1/g;

/** Tests beside the code they test. */
const TESTS = /^(src|packages|test|web[/\\]src)\b.*\.test\.tsx?$/;
/** None of these is a noun as well, as "answers" or "reads" are. */
const VERBS =
  'accepts are asks can cannot comes do does draws fails finds forgets gets gives goes has have hides is keeps knows ' +
  'leaves lets makes may must never opens prints refuses removes says sends serves shows stays takes tells waits writes';
/** The name in `it('…')`, or in the second call of `it.each(…)('…')`. */
const BEGINS_WITH_VERB = new RegExp(
  `(?:\\bit|\\))\\(\\s*(['"\`])((?:${VERBS.replaceAll(' ', '|')}) .*?)\\1`,
  'g',
);

await runCommand(async () => {
  const found = PLACES.flatMap((place) =>
    [...filesUnder(join(root, place), (path) => path === OWN)].flatMap(faultsIn),
  );
  for (const fault of found) say(fault);
  process.exitCode = found.length > 0 ? 1 : 0;
});

function faultsIn(path) {
  if (!READ.has(extname(path))) return [];
  const file = relative(root, path);
  const text = readFileSync(path, 'utf8');
  const words = text
    .split('\n')
    .flatMap((line, place) =>
      [...line.replace(MEANT, '').matchAll(REFUSED)].map(
        ([word]) => `${file}:${place + 1}: "${word}": ${BETTER[word.toLowerCase()]}`,
      ),
    );
  return TESTS.test(file) ? [...words, ...namesWithoutSubject(file, text)] : words;
}

function namesWithoutSubject(file, text) {
  return [...text.matchAll(BEGINS_WITH_VERB)].map(({ index, 0: call, 2: name }) => {
    const place = text.slice(0, index + call.length).split('\n').length;
    return `${file}:${place}: "${name}": name what the test is about first, as in "a session ends after half a day"`;
  });
}
