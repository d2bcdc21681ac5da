// Lines of each room, without tests and translations, beside the budget in docs/architecture.md. A room above it is a failure.
import { readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { filesUnder, root } from './steps.mjs';

const TABLE = join('docs', 'architecture.md');
const CODE = /\.(ts|tsx|css)$/;
const NOT_COUNTED = /\.test\.tsx?$|[\\/]texts[\\/](de|es|fr)[\\/]/;

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

/** Rows `| room | 1,234 |` of the table under the heading "Budget". */
export function budgets() {
  const [, section = ''] = readFileSync(join(root, TABLE), 'utf8').split('\n## Budget\n');
  const rows = section.split('\n## ', 1)[0].matchAll(/^\| (\w+) \| ([\d,]+) \|/gm);
  return new Map(Array.from(rows, ([, room, max]) => [room, Number(max.replaceAll(',', ''))]));
}

export function checkBudget() {
  const allowed = budgets();
  const rooms = [...linesByRoom()].sort(([, one], [, other]) => other - one);
  const faults = rooms.flatMap(([room, lines]) => {
    const max = allowed.get(room);
    if (max === undefined) return `${room} has no budget in ${TABLE}`;
    return lines > max
      ? `${room} has ${lines} lines, its budget is ${max}: say in ${TABLE} what they are for`
      : [];
  });
  const shown = rooms.map(([room, lines]) => `${room} ${lines}/${allowed.get(room) ?? '?'}`);
  const sum = rooms.reduce((total, [, lines]) => total + lines, 0);
  return {
    ok: faults.length === 0,
    output: [`Lines by room: ${shown.join(', ')}; together ${sum}`, ...faults].join('\n'),
  };
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { ok, output } = checkBudget();
  process.stdout.write(`${output}\n`);
  process.exitCode = ok ? 0 : 1;
}
