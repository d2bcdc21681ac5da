// Seeding beside mapcache_seed and mapproxy-seed: tiles a second, processor time, bytes on disk, memory.
// npm run bench -- seed [--pictures drawn,busy,photo] [--zooms 6,7] [--upstreams instant,slow,live] [--rounds 3]
//                       [--seeders Tilewarden,MapCache,MapProxy] [--json figures.json] [--svg docs/images/seed.svg]
// The same upstream, metatiles of 4 × 4, 2 threads, in turns. `slow` answers after 150 ms; `live` is MapServer itself, which
// draws only the first kind of picture. A run adds its figures to those of earlier ones in --json, and draws them all in --svg.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from '../harness/options.ts';
import type { PictureName } from '../harness/pictures.ts';
import { openReplayUpstream } from '../harness/replay-upstream.ts';
import { quantile, say, sayMachine, temporaryFolder } from '../harness/report.ts';
import { plotSpeeds } from './plot-speeds.ts';
import { SEEDERS, type SeedResult } from './seeders.ts';

const options = readOptions({
  pictures: ['drawn', 'busy', 'photo'],
  zooms: [6, 7],
  upstreams: ['instant', 'slow', 'live'],
  seeders: SEEDERS.map(({ name }) => name),
  rounds: 3,
  svg: '',
  json: '',
});

interface Comparison {
  readonly picture: PictureName;
  readonly zoom: number;
  readonly upstream: string;
}

interface Run extends SeedResult {
  /** Unknown of MapServer itself. */
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
const seeders = SEEDERS.filter(({ name }) => options.seeders.includes(name));
const folder = temporaryFolder();
const upstream = await openReplayUpstream();
try {
  sayMachine();
  for (const comparison of comparisons()) keep(show(comparison, await compare(comparison)));
} finally {
  await upstream.close();
}

function* comparisons(): Generator<Comparison> {
  for (const picture of options.pictures as readonly PictureName[]) {
    for (const zoom of options.zooms) {
      for (const name of options.upstreams) {
        if (name !== 'live' || picture === 'drawn') yield { picture, zoom, upstream: name };
      }
    }
  }
}

async function compare({ picture, zoom, upstream: name }: Comparison): Promise<ReadonlyMap<string, Run[]>> {
  const runs = new Map(seeders.map((seeder) => [seeder.name, [] as Run[]]));
  const delayMs = name === 'slow' ? SLOW_MS : 0;
  const format = picture === 'photo' ? 'image/jpeg' : 'image/png';
  for (let round = 0; round < options.rounds; round++) {
    for (const seeder of seeders) {
      const place = join(folder, seeder.name);
      mkdirSync(place);
      const mapServerUrl = await upstream.replay({ picture, zoom, delayMs });
      const live = name === 'live' ? mapServerUrl : null;
      const before = await upstream.figures();
      const result = await seeder.seed({ folder: place, zoom, format, wmsUrl: live ?? upstream.url });
      const { idleShare, processorMs } = await upstream.figures();
      runs.get(seeder.name)?.push({
        ...result,
        idleShare: live === null ? idleShare : null,
        upstreamMs: processorMs - before.processorMs,
      });
      rmSync(place, { recursive: true });
    }
  }
  return runs;
}

function show(comparison: Comparison, runs: ReadonlyMap<string, readonly Run[]>): SeedFigures[] {
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

function figuresOf(runs: readonly Run[], tiles: number): Omit<SeedFigures, keyof Comparison | 'seeder'> {
  const speeds = runs.map(({ seconds }) => tiles / seconds);
  const median = (figure: (run: Run) => number) => quantile(runs.map(figure));
  const idle = median(({ idleShare }) => idleShare ?? Number.NaN);
  return {
    tilesPerSecond: Math.round(quantile(speeds)),
    slowest: Math.round(Math.min(...speeds)),
    fastest: Math.round(Math.max(...speeds)),
    cpuMsPerTile: Number((median(({ processorMs }) => processorMs) / tiles).toFixed(3)),
    upstreamCpuMsPerTile: Number((median(({ upstreamMs }) => upstreamMs) / tiles).toFixed(3)),
    bytesPerTile: Math.round(median(({ diskBytes }) => diskBytes) / tiles),
    peakMiB: Math.round(median(({ peakBytes }) => peakBytes) / 1024 ** 2),
    idlePercent: Number.isNaN(idle) ? null : Math.round(100 * idle),
  };
}

function lineOf(line: SeedFigures, ours: number | undefined): string {
  const isOther = ours !== undefined && line.seeder !== 'Tilewarden';
  const cells = [
    line.seeder,
    `${line.tilesPerSecond} (${line.slowest}–${line.fastest})`,
    line.cpuMsPerTile,
    line.bytesPerTile,
    `${line.peakMiB} MiB`,
    line.idlePercent === null ? '–' : `${line.idlePercent} %`,
    isOther ? `we are ${(ours / line.tilesPerSecond).toFixed(2)} × as fast` : '',
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Replaces the figures of an earlier run for the same comparison. */
function keep(lines: readonly SeedFigures[]): void {
  const { json, svg } = options;
  if (!json) return;
  const earlier = existsSync(json) ? (JSON.parse(readFileSync(json, 'utf8')) as SeedFigures[]) : [];
  const titles = new Set(lines.map(titleOf));
  const all = [...earlier.filter((line) => !titles.has(titleOf(line))), ...lines];
  writeFileSync(json, `${JSON.stringify(all, null, 2)}\n`);
  if (!svg) return;
  const groups = [...new Set(all.map(titleOf))].map((title) => ({
    title,
    bars: all
      .filter((line) => titleOf(line) === title)
      .map(({ seeder, tilesPerSecond }) => ({ label: seeder, value: tilesPerSecond })),
  }));
  writeFileSync(svg, plotSpeeds(groups));
}
