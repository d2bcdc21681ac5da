// Finds words that hide who does what or are no longer current, and suggests a better one for each.
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
/** `nobody` as a user of the operating system. */
const MEANT = /^User nobody$|(['`])nobody\1/g;

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
  return text
    .split('\n')
    .flatMap((line, place) =>
      [...line.replace(MEANT, '').matchAll(REFUSED)].map(
        ([word]) => `${file}:${place + 1}: "${word}": ${BETTER[word.toLowerCase()]}`,
      ),
    );
}
