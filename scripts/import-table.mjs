// Prints a table of how many configurations of other programs `tilewarden import` can take, and how completely:
// node --import ./scripts/typescript/register.mjs scripts/import-table.mjs FOLDER… [--files] [--reasons]
// FOLDER: a checkout of MapProxy, MapCache, GeoWebCache or GeoServer.
import { readFileSync } from 'node:fs';
import { argv, stdout } from 'node:process';
import { readImported } from '../src/cli/import.ts';
import { WHOLE } from '../src/import/import-report.ts';
import { groupsIn, namedLayers } from '../src/import/mapproxy-tables.ts';
import { readXml } from '../src/lib/xml/read-xml.ts';
import { childrenOf } from '../src/lib/xml/xml-element.ts';
import { parseYamlFile } from '../src/lib/yaml-file.ts';
import { filesUnder } from './steps.mjs';

const LIMITS = { bytes: 2 ** 24, depth: 32, elements: 100_000, attributes: 64 };
/** By program: names of its files, a pattern that a file with layers contains, and how to list those. */
const KINDS = {
  MapProxy: { file: /\.ya?ml$/, has: /^layers:/m, layers: mapProxyLayers },
  MapCache: {
    file: /\.xml(\.sample)?$/,
    has: /<mapcache>/,
    layers: (text) => childrenOf(readXml(text, LIMITS), 'tileset'),
  },
  GeoWebCache: {
    file: /\.xml$/,
    has: /<gwcConfiguration/,
    layers: (text) => childrenOf(readXml(text, LIMITS), 'layers').flatMap(({ children }) => children),
  },
  GeoServer: { file: /gwc-layers.*\.xml$/, has: /<GeoServerTileLayer>/, layers: (text) => [text] },
};

const folders = argv.slice(2).filter((arg) => !arg.startsWith('--'));
const reasons = new Map();
const rows = await Promise.all(Object.entries(KINDS).map(([name, kind]) => row(name, kind)));
stdout.write(
  '| files of | with layers | whole / partly / none | layers in → out |\n| --- | --- | --- | --- |\n',
);
stdout.write(rows.join(''));
if (argv.includes('--reasons')) {
  const sorted = [...reasons].sort(([, one], [, other]) => other.length - one.length);
  stdout.write(
    sorted.map(([why, where]) => `${where.length} ${why}: ${where.slice(0, 4).join(', ')}\n`).join(''),
  );
}

async function row(name, { file, has, layers }) {
  const sum = { files: 0, whole: 0, partly: 0, none: 0, in: 0, out: 0 };
  for (const path of folders.flatMap((folder) => [...filesUnder(folder)]).sort()) {
    if (!file.test(path)) continue;
    const text = readFileSync(path, 'utf8');
    const there = has.test(text) ? layers(text, path) : [];
    if (there.length === 0) continue;
    const here = await imported(path, there);
    if (argv.includes('--files')) stdout.write(`${name} ${path}: ${there.length} → ${here}\n`);
    sum.files += 1;
    sum.in += there.length;
    sum.out += here;
    sum[here === 0 ? 'none' : here < there.length ? 'partly' : 'whole'] += 1;
  }
  return `| ${name} | ${sum.files} | ${sum.whole} / ${sum.partly} / ${sum.none} | ${sum.in} → ${sum.out} |\n`;
}

async function imported(path, there) {
  try {
    const { layers, groups, report } = await readImported({ source: path });
    for (const { subject, element, fate, what } of report.entries) {
      if (element === WHOLE && fate === 'left out' && /^(layer|group) /.test(subject))
        note(what, path, subject);
    }
    const names = new Set(there);
    return [...layers, ...groups].filter(({ name, advertised }) => advertised !== false || names.has(name))
      .length;
  } catch (error) {
    note(error.message.split('\n')[0], path, `${there.length} layers`);
    return 0;
  }
}

function note(why, path, subject) {
  const list = reasons.get(why) ?? [];
  reasons.set(why, [...list, `${path.split('/').at(-1)} ${subject}`]);
}

function mapProxyLayers(text, path) {
  const { value } = parseYamlFile(path, text);
  if (!value || typeof value !== 'object') return [];
  return [...namedLayers(value.layers), ...groupsIn(value.layers)].map(({ name }) => name);
}
