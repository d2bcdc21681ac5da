import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contestant, childrenOf, programPath } from './measure-hits.ts';
import { eventually, freePort } from './nginx-server.ts';

const MODULES = '/usr/lib/apache2/modules';
const THREADS = 'StartServers 1\nServerLimit 16\nThreadsPerChild 64\nMaxRequestWorkers 1024';

export function hasMapCache(): boolean {
  return programPath('apache2') !== null && existsSync(join(MODULES, 'mod_mapcache.so'));
}

/** Apache with mod_mapcache over the same files, threads on every core, without a log of requests. */
export async function startMapCache(name: string, www: string, folder: string): Promise<Contestant> {
  const program = programPath('apache2') ?? 'apache2';
  const port = await freePort();
  const pidFile = join(folder, 'apache.pid');
  const configuration = join(folder, 'apache.conf');
  const cache = join(folder, 'mapcache.xml');
  writeFileSync(cache, cacheOf(www, folder));
  writeFileSync(configuration, apacheConfig({ folder, port, alias: '/mapcache', cache, more: THREADS }));
  execFileSync(program, ['-f', configuration, '-k', 'start']);
  const pid = Number(await eventually(() => readFileSync(pidFile, 'utf8').trim()));
  let running = true;
  return {
    name,
    url: `http://127.0.0.1:${port}`,
    prefix: '/mapcache/gmaps/world@GoogleMapsCompatible',
    pids: () => childrenOf(pid),
    async stop() {
      if (running) process.kill(pid, 'SIGTERM');
      running = false;
    },
  };
}

function cacheOf(www: string, folder: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>
<mapcache>
  <cache name="files" type="disk" layout="template"><template>${www}/tiles/world/{z}/{x}/{inv_y}.png</template></cache>
  <source name="none" type="wms">
    <getmap><params><FORMAT>image/png</FORMAT><LAYERS>a</LAYERS></params></getmap>
    <http><url>http://127.0.0.1:1/</url></http>
  </source>
  <tileset name="world">
    <source>none</source><cache>files</cache><grid>GoogleMapsCompatible</grid><format>PNG</format>
    <metatile>1 1</metatile>
  </tileset>
  <service type="gmaps" enabled="true"/>
  <lock_dir>${folder}</lock_dir>
</mapcache>
`;
}

interface ApacheOptions {
  readonly folder: string;
  readonly port: number;
  /** Where the cache is, and the file that describes it. */
  readonly alias: string;
  readonly cache: string;
  readonly more: string;
}

export function apacheConfig({ folder, port, alias, cache, more }: ApacheOptions): string {
  return `
ServerRoot ${folder}
ServerName localhost
User nobody
Group nogroup
Listen 127.0.0.1:${port}
PidFile ${join(folder, 'apache.pid')}
ErrorLog ${join(folder, 'apache-error.log')}
LogLevel error
LoadModule mpm_event_module ${MODULES}/mod_mpm_event.so
LoadModule authz_core_module ${MODULES}/mod_authz_core.so
LoadModule mapcache_module ${MODULES}/mod_mapcache.so
MaxKeepAliveRequests 0
${more}
MapCacheAlias ${alias} ${cache}
`;
}
