/**
 * npm run test:mapproxy-requests -- CHECKOUT [--misses] [--recorded FOLDER]: sends the requests of MapProxy's own system
 * tests to a server with the imported configurations. Counts responses with MapProxy's class of status and, unless that is
 * an error, its type. Needs Debian's mapproxy, python3-pytest, python3-webtest, python3-shapely, python3-werkzeug and
 * python3-jsonschema. `--recorded`: keeps MapProxy's responses there, or reuses those of an earlier run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { readImported } from '../../src/cli/import.ts';
import { writeSettingsFile } from '../../src/lib/yaml-file.ts';
import { root, started } from '../steps.mjs';
import { openUpstream } from './open-upstream.mjs';

const [checkout, ...flags] = process.argv.slice(2);
if (!checkout) throw new Error('Name the folder of a checkout of MapProxy.');
const kept = flags.includes('--recorded') ? flags[flags.indexOf('--recorded') + 1] : null;
const folder = await mkdtemp(join(tmpdir(), 'tilewarden-mapproxy-'));
const recorded = kept ?? join(folder, 'recorded');
const sums = new Map();
try {
  if (!existsSync(join(recorded, 'requests.jsonl'))) await record();
  const lines = readFileSync(join(recorded, 'requests.jsonl'), 'utf8').trim().split('\n').map(JSON.parse);
  const upstream = await openUpstream();
  for (const configuration of new Set(lines.map((line) => line.configuration))) {
    // Requests with a failing source come last: after some failures, the server pauses that host.
    const requests = lines
      .filter((line) => line.configuration === configuration)
      .sort((one, other) => (one.status >= 500) - (other.status >= 500));
    await askAll(configuration, requests, upstream);
  }
  await upstream.close();
} finally {
  await rm(folder, { recursive: true, force: true });
}
const rows = [...sums].map(([file, { same, all }]) => `| ${file} | ${same} | ${all} |\n`);
const total = [...sums.values()].reduce((sum, one) => ({
  same: sum.same + one.same,
  refused: sum.refused + one.refused,
  all: sum.all + one.all,
}));
process.stdout.write(`| tests | same | of |\n| --- | --- | --- |\n${rows.join('')}`);
process.stdout.write(`${total.same} of ${total.all} requests have MapProxy's status and type; `);
process.stdout.write(`${total.refused} more are refused by both, as faults of the server there\n`);
/** Runs MapProxy's system tests with the plugin record_requests.py. */
async function record() {
  await mkdir(recorded, { recursive: true });
  const options = [
    '-q',
    '-p',
    'no:cacheprovider',
    '-p',
    'record_requests',
    '--continue-on-collection-errors',
  ];
  const plugin = join(root, 'scripts/mapproxy');
  const env = {
    ...process.env,
    RECORDED: recorded,
    PYTHONPATH: plugin,
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const args = ['-m', 'pytest', ...options, 'mapproxy/test/system'];
  const tests = await started(
    spawn('/usr/bin/python3', args, { cwd: checkout, env, stdio: ['ignore', 'ignore', 'inherit'] }),
  );
  await once(tests, 'exit');
}

async function askAll(configuration, requests, upstream) {
  const server = await startServer(join(recorded, configuration, requests[0].file));
  try {
    for (const { test, path, headers, status, type } of requests) {
      upstream.fails = status >= 500;
      const answer = server ? await ask(server.url, path, headers) : { status: 0, type: 'no server' };
      const isSame =
        classOf(answer.status) === classOf(status) && (status >= 400 || isSameType(answer.type, type));
      const file = test.replace(/^.*\/(.*)\.py::.*$/, '$1');
      const { same, refused, all } = sums.get(file) ?? { same: 0, refused: 0, all: 0 };
      const areRefused = !isSame && status >= 500 && answer.status >= 400 && answer.status < 500;
      sums.set(file, {
        same: same + (isSame ? 1 : 0),
        refused: refused + (areRefused ? 1 : 0),
        all: all + 1,
      });
      if (isSame || !flags.includes('--misses')) continue;
      const [there, here] = [`${status} ${type}`, `${answer.status} ${answer.type} ${answer.text}`];
      process.stdout.write(`${test.replace(/^.*\//, '')} ${path}\n  ${there}, here ${here}\n`);
    }
  } finally {
    await server?.stop();
  }
}

/** Null if nothing of the configuration can be imported. */
async function startServer(file) {
  const settings = await settingsOf(file);
  if (!settings) return null;
  const config = join(folder, 'tilewarden.yaml');
  const data = await mkdtemp(join(folder, 'data-'));
  writeFileSync(config, writeSettingsFile(settings));
  const args = ['serve', '--no-auth', '--port', '0', '--data', data, '--config', config];
  const server = await started(
    spawn(process.execPath, [join(root, 'dist/cli/main.js'), ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  const stop = async () => {
    const ended = once(server, 'exit');
    server.kill('SIGTERM');
    await ended;
    await rm(data, { recursive: true, force: true });
  };
  for await (const line of createInterface({ input: server.stdout })) {
    const [, url] = /is ready at (\S+)\/$/.exec(line) ?? [];
    if (url) return { url, stop };
  }
  return null;
}

async function settingsOf(file) {
  try {
    const { service, areas, gridSets, layers, groups } = await readImported({ source: file });
    const shown = layers.map(({ schedules: _, ...layer }) => layer);
    const rest = { areas, gridSets, layers: shown, groups, ...(service && { service }) };
    return layers.length === 0
      ? null
      : { server: { compatibility: ['mapproxy'] }, log: { level: 'silent' }, tasks: { workers: 0 }, ...rest };
  } catch {
    return null;
  }
}

/** Follows a redirect: some pages have another address here. */
async function ask(url, path, headers) {
  const { location, ...answer } = await askAt(url, path, headers);
  return location === undefined ? answer : askAt(url, new URL(location, url).pathname, headers);
}

/** Sends the path unchanged, even with `..` or without its first slash, as fetch would not. */
async function askAt(url, path, headers) {
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, path, headers });
  sent.end();
  const [response] = await once(sent, 'response');
  const bytes = Buffer.concat(await response.toArray());
  const type = (response.headers['content-type'] ?? '').replace(/;.*$/, '');
  const isText = /xml|json|text|html/.test(type) && response.statusCode !== 200;
  const text = isText
    ? bytes
        .toString('utf8')
        .replaceAll(/<[^>]*>|\s+/g, ' ')
        .slice(0, 160)
    : '';
  return { status: response.statusCode, type, text, location: response.headers.location };
}

/** Refusals and failures have other codes in MapProxy, within the same class. */
function classOf(status) {
  return Math.floor(status / 100);
}

/** Treats all XML types but KML and GML as the same. */
function isSameType(one, other) {
  const plain = (type) => (/xml/.test(type) && !/kml|gml/.test(type) ? 'xml' : type.replace(/;.*$/, ''));
  return plain(one) === plain(other);
}
