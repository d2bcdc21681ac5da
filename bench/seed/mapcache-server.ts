import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { apacheConfig } from '../hits/mapcache-server.ts';
import { type Contestant, programPath } from '../hits/measure-hits.ts';
import { eventually, freePort } from '../hits/nginx-server.ts';
import { MAPCACHE, mapCacheConfig } from './seeders.ts';

export interface MapCacheServer extends Contestant {
  /** Resolves when these zooms are in the cache. */
  seed(from: number, to: number): Promise<void>;
  /** Seeds a zoom until it is stopped; resolves to what stops it. */
  keepSeeding(zoom: number): Promise<() => Promise<void>>;
}

/** Apache with mod_mapcache, one process of many threads as Debian sets it up, and mapcache_seed on the same cache. */
export async function startMapCache(folder: string, wmsUrl: string): Promise<MapCacheServer> {
  const program = programPath('apache2') ?? 'apache2';
  const port = await freePort();
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'mapcache.xml');
  writeFileSync(config, mapCacheConfig(folder, wmsUrl, 'a', 'image/png'));
  const apache = join(folder, 'apache.conf');
  const more = '<Location />\n  Require all granted\n</Location>';
  writeFileSync(apache, apacheConfig({ folder, port, alias: '/', cache: config, more }));
  const places = ['-c', config, '-t', 'bench', '-g', 'GoogleMapsCompatible'];
  const seedArguments = (zooms: string) => [...places, '-z', zooms, '-M', '4,4', '-n', '2', '-f', '-q'];
  const seed = async (from: number, to: number) => {
    // Not in a way that holds this process up: the upstream is in it.
    await promisify(execFile)(MAPCACHE, seedArguments(`${from},${to}`));
    // Apache's own user has to read it.
    for (const name of ['..', '', 'tiles', 'tiles/tiles.sqlite3']) chmodSync(join(folder, name), 0o777);
  };
  await seed(0, 0);
  const server = spawn(program, ['-f', apache, '-D', 'FOREGROUND'], { stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const prefix = '/tms/1.0.0/bench@GoogleMapsCompatible';
  const tile = `${url}${prefix}/0/0/0.png`;
  await eventually(() =>
    execFileSync('curl', ['-sf', '-o', '/dev/null', '-w', '%{http_code}', tile]).toString(),
  );
  return {
    name: 'mod_mapcache',
    url,
    prefix,
    pids: () => [],
    seed,
    async keepSeeding(zoom) {
      let going = true;
      const start = () =>
        spawn(MAPCACHE, seedArguments(`${zoom},${zoom}`), { stdio: 'ignore' }).on('exit', again);
      const again = () => {
        if (going) seeder = start();
      };
      let seeder = start();
      return async () => {
        going = false;
        seeder.kill('SIGKILL');
      };
    },
    async stop() {
      server.kill('SIGTERM');
      await once(server, 'exit');
    },
  };
}
