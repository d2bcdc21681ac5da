/**
 * Seeding of our server beside mapcache_seed and mapproxy-seed, alternating in one run: the same upstream, metatiles of
 * 4 × 4, 2 threads.
 *
 *   npm run bench:seed -- [--pictures drawn,busy,photo] [--zooms 5,6] [--upstreams instant,slow,live] [--rounds 3]
 *                         [--svg docs/images/seed.svg] [--json figures.json]
 *
 * `slow` answers after 150 ms; `live` is MapServer itself, and draws only the first kind of picture.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openMapServer } from '../../test/fixtures/mapserver/mapserver.ts';
import { loadPictures, type PictureName, type Pictures } from './pictures.ts';
import { plotSpeeds, type SpeedGroup } from './plot-speeds.ts';
import { openReplayUpstream, type ReplayUpstream } from './replay-upstream.ts';
import { SEEDERS, type SeedResult } from './seeders.ts';

const { values } = parseArgs({
  options: {
    pictures: { type: 'string', default: 'drawn,busy,photo' },
    zooms: { type: 'string', default: '5,6' },
    upstreams: { type: 'string', default: 'instant,slow,live' },
    rounds: { type: 'string', default: '3' },
    svg: { type: 'string' },
    json: { type: 'string' },
  },
});

type UpstreamName = 'instant' | 'slow' | 'live';
interface Measured extends SeedResult {
  readonly idleShare: number | null;
}

const SLOW_MS = 150;
const MIB = 1024 ** 2;
const MAPSERVER = '/usr/bin/mapserv';
const say = (line: string) => void process.stdout.write(`${line}\n`);
const median = (numbers: readonly number[]) =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

execFileSync(process.execPath, ['scripts/build.mjs'], { stdio: 'inherit' });
const folder = mkdtempSync(join(tmpdir(), 'tilewarden-bench-seed-'));
const mapServer = await openMapServer(MAPSERVER);
const upstream = await openReplayUpstream();
const groups: SpeedGroup[] = [];
const figures: object[] = [];
try {
  for (const picture of values.pictures.split(',') as PictureName[]) {
    for (const zoom of values.zooms.split(',').map(Number)) {
      const pictures = await loadPictures(picture, zoom, mapServer.url);
      for (const name of values.upstreams.split(',') as UpstreamName[]) {
        if (name === 'live' && picture !== 'drawn') continue;
        await compare(picture, zoom, name, pictures);
      }
    }
  }
  if (values.svg) writeFileSync(values.svg, plotSpeeds(groups));
  if (values.json) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
} finally {
  await upstream.close();
  await mapServer.close();
  rmSync(folder, { recursive: true, force: true });
}

async function compare(
  picture: PictureName,
  zoom: number,
  name: UpstreamName,
  pictures: Pictures,
): Promise<void> {
  const tiles = (4 ** (zoom + 1) - 1) / 3;
  const runs = new Map(SEEDERS.map((seeder) => [seeder.name, [] as Measured[]]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const seeder of SEEDERS) {
      const place = join(folder, `${seeder.name}-${round}`);
      const order = {
        folder: place,
        zoom,
        format: picture === 'photo' ? 'image/jpeg' : 'image/png',
      } as const;
      upstream.reset(pictures, name === 'slow' ? SLOW_MS : 0);
      const live = { wmsUrl: mapServer.url, wmsLayer: 'land' };
      const replayed = { wmsUrl: upstream.url, wmsLayer: 'a' };
      const result = await seeder.seed({ ...order, ...(name === 'live' ? live : replayed) });
      runs.get(seeder.name)?.push({ ...result, idleShare: name === 'live' ? null : upstream.idleShare });
      rmSync(place, { recursive: true, force: true });
    }
  }
  show(picture, zoom, name, tiles, runs, upstream);
}

function show(
  picture: string,
  zoom: number,
  name: UpstreamName,
  tiles: number,
  runs: ReadonlyMap<string, readonly Measured[]>,
  { requests }: ReplayUpstream,
): void {
  const title = `${picture}, zoom 0 to ${zoom}, ${name === 'slow' ? `${SLOW_MS} ms` : name} upstream`;
  say(`\n${title}: ${tiles} tiles${name === 'live' ? '' : `, ${requests} requests`}`);
  say('| | tiles/s (spread) | CPU ms a tile | bytes a tile on disk | peak memory | upstream idle | |');
  say('| --- | ---: | ---: | ---: | ---: | ---: | --- |');
  const speedOf = (all: readonly Measured[]) => median(all.map(({ seconds }) => tiles / seconds));
  const ours = speedOf(runs.get('Tilewarden') ?? []);
  for (const [seeder, all] of runs) {
    const speeds = all.map(({ seconds }) => tiles / seconds);
    const row = {
      tilesPerSecond: Math.round(median(speeds)),
      slowest: Math.round(Math.min(...speeds)),
      fastest: Math.round(Math.max(...speeds)),
      cpuMsPerTile: Number((median(all.map(({ processorMs }) => processorMs)) / tiles).toFixed(3)),
      bytesPerTile: Math.round(median(all.map(({ diskBytes }) => diskBytes)) / tiles),
      peakMiB: Math.round(median(all.map(({ peakBytes }) => peakBytes)) / MIB),
      idlePercent:
        name === 'live' ? null : Math.round(100 * median(all.map(({ idleShare }) => idleShare ?? 0))),
    };
    const times = seeder === 'Tilewarden' ? '' : `we are ${(ours / median(speeds)).toFixed(2)} × as fast`;
    const idle = row.idlePercent === null ? '–' : `${row.idlePercent} %`;
    say(
      `| ${seeder} | ${row.tilesPerSecond} (${row.slowest}–${row.fastest}) | ${row.cpuMsPerTile} | ${row.bytesPerTile} | ${row.peakMiB} MiB | ${idle} | ${times} |`,
    );
    figures.push({ picture, zoom, upstream: name, seeder, ...row });
  }
  groups.push({ title, bars: [...runs].map(([label, all]) => ({ label, value: speedOf(all) })) });
}
