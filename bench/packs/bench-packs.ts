// Bytes of PostgreSQL for each pack, and how long it takes to truncate and sweep a layer of 100,000 packs.
//   npm run bench:packs            a million packs
//   npm run bench:packs -- 100000  so many

import { argv, stdout } from 'node:process';
import pg from 'pg';
import { openDatabase } from '../../src/db/open-database.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { schemaKit } from '../../src/lib/schemas.ts';
import { writePackDetail } from '../../src/storage/packs/pack-detail.ts';
import { openPackStore } from '../../src/storage/packs/pack-store.ts';
import { openS3Objects } from '../../src/storage/s3/s3-objects.ts';
import { s3StoreOptions } from '../../src/storage/s3/s3-store-options.ts';
import { openTestPostgres } from '../../test/fixtures/postgres.ts';
import { openTestS3 } from '../../test/fixtures/s3.ts';

const PACKS = Number(argv[2] ?? 1_000_000);
const TRUNCATED = 100_000;
const SLICE = 10_000;
const TILES_OF_A_PACK = 16;

const postgres = await openTestPostgres();
const s3 = await openTestS3();
const client = new pg.Client(postgres.address);
await client.connect();
const database = await openDatabase({ location: postgres.address, clock: systemClock, log: silentLogger });
const options = s3StoreOptions(schemaKit).parse({
  type: 's3',
  pathStyle: true,
  sweepRequestsPerSecond: 1000,
  ...JSON.parse(s3.address),
});
const surroundings = { clock: systemClock, random: systemRandom, log: silentLogger };
const store = await openPackStore(options, {
  ...surroundings,
  openBucket: () => openS3Objects(options, surroundings),
  name: 'default',
  database,
  shapeOf: () => ({ columns: 4, rows: 4 }),
  sweeps: () => true,
});

try {
  await fill('large', PACKS);
  await client.query('vacuum analyze packs, pack_pages');
  for (const [table, of] of [
    ['packs', 'packs'],
    ['pack_pages', 'pages of 16 × 16 tiles'],
  ] as const) {
    const { rows } = await client.query(
      `select count(*)::int as rows, pg_relation_size('${table}')::float8 as heap, pg_indexes_size('${table}')::float8 as indexes from ${table}`,
    );
    const { rows: count, heap, indexes } = rows[0];
    say(
      `${count} ${of}: ${(heap / count).toFixed(1)} bytes of rows + ${(indexes / count).toFixed(1)} of indexes`,
    );
  }
  const total = await client.query(
    `select (pg_total_relation_size('packs') + pg_total_relation_size('pack_pages'))::float8 as bytes`,
  );
  const perTile = total.rows[0].bytes / (PACKS * TILES_OF_A_PACK);
  say(`10^9 tiles in metatiles of 4 × 4: ${perTile.toFixed(2)} GB`);
  await fill('roads', TRUNCATED);
  const began = performance.now();
  await store.raiseGeneration('roads');
  await store.dropLayer('roads');
  say(`a layer of ${TRUNCATED} packs: truncated in ${(performance.now() - began).toFixed(1)} ms`);
  const sweeping = performance.now();
  while ((await store.sweeping()).files > 0) await systemClock.sleep(100);
  const deletions = store.takeRequests?.().filter(({ labels }) => labels.operation === 'delete') ?? [];
  const requests = deletions.find(({ name }) => name === 'store_requests_total')?.value ?? 0;
  say(
    `swept with ${requests} requests (${((requests / TRUNCATED) * 1000).toFixed(3)} for 1,000 objects) in ${((performance.now() - sweeping) / 1000).toFixed(1)} s`,
  );
} finally {
  await store.close();
  await database.close();
  await client.end();
  await postgres.close();
  await s3.close();
}

/** As a seed leaves it: packs row by row, pages with what the packs add up to. The objects themselves are not written. */
async function fill(layer: string, packs: number): Promise<void> {
  const identity = JSON.stringify([layer, 'EPSG:900913', 'image/png', null]);
  const { rows } = await client.query(
    `insert into tile_sets (store, layer, identity, columns, rows) values ('default', $1, $2, 4, 4) returning id`,
    [JSON.stringify(layer), identity],
  );
  const set = rows[0].id;
  const width = Math.ceil(Math.sqrt(packs));
  for (let from = 0; from < packs; from += SLICE) {
    const numbers = Array.from({ length: Math.min(SLICE, packs - from) }, (_, at) => from + at);
    const details = numbers.map(detail);
    await client.query(
      `insert into packs (tile_set, z, band, x, y, detail)
       select $1, 14, w.y >> 5, w.x, w.y, w.detail from unnest($2::int[], $3::int[], $4::bytea[]) w (x, y, detail)`,
      [set, numbers.map((n) => n % width), numbers.map((n) => Math.floor(n / width)), details],
    );
  }
  await client.query(
    `insert into pack_pages (tile_set, z, band, x, y, tiles, bytes, written_at, changed, renewed)
     select $1, 14, (y >> 2) >> 3, x >> 2, y >> 2, count(*) * 16, count(*) * 16 * 12000, 1, 1, 0
     from packs where tile_set = $1 group by x >> 2, y >> 2`,
    [set],
  );
}

/** Sixteen tiles of one making, of 4 to 20 KB. */
function detail(number: number): Buffer {
  const making = {
    createdAt: 1_790_000_000_000 + number,
    freshUntil: null,
    madeBy: 4711,
    validator: null,
    ticket: number,
  };
  const object = Math.floor(Math.random() * 2 ** 48);
  return writePackDetail(
    Array.from({ length: TILES_OF_A_PACK }, (_, slot) => ({
      slot,
      object,
      length: 4000 + ((number * 7 + slot * 997) % 16_000),
      ...making,
    })),
    TILES_OF_A_PACK,
  );
}

function say(line: string): void {
  stdout.write(`${line}\n`);
}
