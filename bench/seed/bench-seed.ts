// Seeding beside mapcache_seed and mapproxy-seed: tiles a second, processor time, bytes on disk, memory.
// npm run bench -- seed [--pictures drawn,busy,photo] [--zooms 6,7] [--upstreams instant,slow,live] [--rounds 3]
//                       [--seeders Tilewarden,MapCache,MapProxy] [--json figures.json] [--svg docs/images/seed.svg]
// The same upstream, metatiles of 4 × 4, 2 threads, in turns. `slow` answers after 150 ms; `live` is MapServer itself, which
// draws only the first kind of picture. A run adds its figures to those of earlier ones in --json, and draws them all in --svg.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { quantile, say, temporaryFolder } from '../harness/report.ts';
import type { PictureName } from './pictures.ts';
import { plotSpeeds } from './plot-speeds.ts';
import { openReplayUpstream, type UpstreamFigures } from './replay-upstream.ts';
import { SEEDERS, type SeedResult } from './seeders.ts';

const { values } = parseArgs({
  options: {
    pictures: { type: 'string', default: 'drawn,busy,photo' },
    zooms: { type: 'string', default: '6,7' },
    upstreams: { type: 'string', default: 'instant,slow,live' },
    seeders: { type: 'string', default: SEEDERS.map(({ name }) => name).join(',') },
    rounds: { type: 'string', default: '3' },
    svg: { type: 'string' },
    json: { type: 'string' },
  },
});

type UpstreamName = 'instant' | 'slow' | 'live';

interface Comparison {
  readonly picture: PictureName;
  readonly zoom: number;
  readonly upstream: UpstreamName;
}

interface Measured extends SeedResult {
  /** Null where it is not known. */
  readonly idleShare: number | null;
  readonly upstreamMs: number;
}

/** A line of the table. */
interface SeedFigures extends Comparison {
  readonly seeder: string;
  readonly tilesPerSecond: number;
  readonly slowest: number;
  readonly fastest: number;
  readonly cpuMsPerTile: number;
  readonly upstreamCpuMsPerTile: number;
  readonly bytesPerTile: number;
  readonly peakMiB: number;
  readonly idlePercent: number | null;
}

const SLOW_MS = 150;
const MIB = 1024 ** 2;
const seeders = SEEDERS.filter(({ name }) => values.seeders.split(',').includes(name));

const folder = temporaryFolder();
const upstream = await openReplayUpstream();
try {
  for (const comparison of comparisons()) keep(show(comparison, await compare(comparison)));
} finally {
  await upstream.close();
}

function* comparisons(): Generator<Comparison> {
  for (const picture of values.pictures.split(',') as PictureName[]) {
    for (const zoom of values.zooms.split(',').map(Number)) {
      for (const name of values.upstreams.split(',') as UpstreamName[]) {
        if (name !== 'live' || picture === 'drawn') yield { picture, zoom, upstream: name };
      }
    }
  }
}

async function compare(comparison: Comparison): Promise<ReadonlyMap<string, readonly Measured[]>> {
  const { picture, zoom, upstream: name } = comparison;
  const runs = new Map(seeders.map((seeder) => [seeder.name, [] as Measured[]]));
  const delayMs = name === 'slow' ? SLOW_MS : 0;
  const format = picture === 'photo' ? 'image/jpeg' : 'image/png';
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const seeder of seeders) {
      const place = join(folder, `${seeder.name}-${round}`);
      const mapServerUrl = await upstream.replay({ picture, zoom, delayMs });
      const live = name === 'live' && mapServerUrl !== null;
      const source = live
        ? { wmsUrl: mapServerUrl, wmsLayer: 'land' }
        : { wmsUrl: upstream.url, wmsLayer: 'a' };
      const before = await upstream.figures();
      const result = await seeder.seed({ folder: place, zoom, format, ...source });
      runs.get(seeder.name)?.push({ ...result, ...partOf(await upstream.figures(), before, live) });
      rmSync(place, { recursive: true, force: true });
    }
  }
  return runs;
}

function partOf(
  after: UpstreamFigures,
  before: UpstreamFigures,
  live: boolean,
): Pick<Measured, 'idleShare' | 'upstreamMs'> {
  return {
    idleShare: live ? null : after.idleShare,
    upstreamMs: after.processorMs - before.processorMs,
  };
}

function show(comparison: Comparison, runs: ReadonlyMap<string, readonly Measured[]>): SeedFigures[] {
  const tiles = (4 ** (comparison.zoom + 1) - 1) / 3;
  const lines = [...runs].map(([seeder, all]) => ({ ...comparison, seeder, ...figuresOf(all, tiles) }));
  say(`\n${titleOf(comparison)}: ${tiles} tiles`);
  say('| | tiles/s (spread) | CPU ms a tile | bytes a tile on disk | peak memory | upstream idle | |');
  say('| --- | ---: | ---: | ---: | ---: | ---: | --- |');
  const ours = lines.find(({ seeder }) => seeder === 'Tilewarden')?.tilesPerSecond;
  for (const line of lines) say(lineOf(line, ours));
  say(`(upstream: ${lines.map((line) => line.upstreamCpuMsPerTile).join(', ')} CPU ms a tile)`);
  return lines;
}

function titleOf({ picture, zoom, upstream: name }: Comparison): string {
  return `${picture}, zoom 0 to ${zoom}, ${name === 'slow' ? `${SLOW_MS} ms` : name} upstream`;
}

function figuresOf(all: readonly Measured[], tiles: number): Omit<SeedFigures, keyof Comparison | 'seeder'> {
  const speeds = all.map(({ seconds }) => tiles / seconds);
  const middle = (figure: (one: Measured) => number) => quantile(all.map(figure));
  const idle = all.some(({ idleShare }) => idleShare === null)
    ? null
    : middle(({ idleShare }) => idleShare ?? 0);
  return {
    tilesPerSecond: Math.round(quantile(speeds)),
    slowest: Math.round(Math.min(...speeds)),
    fastest: Math.round(Math.max(...speeds)),
    cpuMsPerTile: Number((middle(({ processorMs }) => processorMs) / tiles).toFixed(3)),
    upstreamCpuMsPerTile: Number((middle(({ upstreamMs }) => upstreamMs) / tiles).toFixed(3)),
    bytesPerTile: Math.round(middle(({ diskBytes }) => diskBytes) / tiles),
    peakMiB: Math.round(middle(({ peakBytes }) => peakBytes) / MIB),
    idlePercent: idle === null ? null : Math.round(100 * idle),
  };
}

function lineOf(line: SeedFigures, ours: number | undefined): string {
  const times =
    ours === undefined || line.seeder === 'Tilewarden'
      ? ''
      : `we are ${(ours / line.tilesPerSecond).toFixed(2)} × as fast`;
  const idle = line.idlePercent === null ? '–' : `${line.idlePercent} %`;
  const speed = `${line.tilesPerSecond} (${line.slowest}–${line.fastest})`;
  return `| ${line.seeder} | ${speed} | ${line.cpuMsPerTile} | ${line.bytesPerTile} | ${line.peakMiB} MiB | ${idle} | ${times} |`;
}

/** In place of what an earlier run found for the same. */
function keep(lines: readonly SeedFigures[]): void {
  const { json, svg } = values;
  if (!json) return;
  const known = existsSync(json) ? (JSON.parse(readFileSync(json, 'utf8')) as SeedFigures[]) : [];
  const titles = new Set(lines.map(titleOf));
  const all = [...known.filter((line) => !titles.has(titleOf(line))), ...lines];
  writeFileSync(json, `${JSON.stringify(all, null, 2)}\n`);
  if (!svg) return;
  const groups = [...new Set(all.map(titleOf))].map((title) => {
    const bars = all.filter((line) => titleOf(line) === title);
    return {
      title,
      bars: bars.map(({ seeder, tilesPerSecond }) => ({ label: seeder, value: tilesPerSecond })),
    };
  });
  writeFileSync(svg, plotSpeeds(groups));
}
