// Lines of each room: TypeScript and CSS of src and web/src, without tests; and their sum beside the budget in
// docs/architecture.md.
import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { filesUnder, root } from './steps.mjs';

const TABLE = join('docs', 'architecture.md');
const CODE = /\.(ts|tsx|css)$/;
const NOT_COUNTED = /\.test\.tsx?$/;

/** By room: `app.ts` belongs to `app`, the console is one room. */
export function linesByRoom() {
  const lines = new Map();
  for (const path of [...filesUnder(join(root, 'src')), ...filesUnder(join(root, 'web', 'src'))]) {
    if (!CODE.test(path) || NOT_COUNTED.test(path)) continue;
    const [top, name = ''] = relative(root, path).split(sep);
    const room = top === 'web' ? 'web' : name.replace(/\.ts$/, '');
    lines.set(room, (lines.get(room) ?? 0) + readFileSync(path, 'utf8').split('\n').length - 1);
  }
  return lines;
}

/** The number under the heading "Budget". */
function maxLines() {
  const [, rest = ''] = readFileSync(join(root, TABLE), 'utf8').split('\n## Budget\n');
  const [, max = '0'] = /at most \*\*([\d,]+)\*\* lines/.exec(rest) ?? [];
  return Number(max.replaceAll(',', ''));
}

export function checkBudget() {
  const rooms = [...linesByRoom()].sort(([, one], [, other]) => other - one);
  const sum = rooms.reduce((total, [, lines]) => total + lines, 0);
  const max = maxLines();
  const shown = rooms.map(([room, lines]) => `${room} ${lines}`).join(', ');
  const lines = [`Lines by room: ${shown}; together ${sum} of ${max}`];
  if (sum > max) lines.push(`There are ${sum} lines, the budget in ${TABLE} is ${max}.`);
  return { ok: sum <= max, output: lines.join('\n') };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { ok, output } = checkBudget();
  process.stdout.write(`${output}\n`);
  process.exitCode = ok ? 0 : 1;
}
