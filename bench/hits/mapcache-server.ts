import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Contestant, childrenOf, programPath } from './measure-hits.ts';
import { eventually, freePort } from './nginx-server.ts';

const MODULES = '/usr/lib/apache2/modules';

export function hasMapCache(): boolean {
  return programPath('apache2') !== null && existsSync(join(MODULES, 'mod_mapcache.so'));
}

/** Apache with mod_mapcache over the same files, threads on every core, without a log of requests. */
export async function startMapCache(name: string, www: string, folder: string): Promise<Contestant> {
  const program = programPath('apache2') ?? 'apache2';
  const port = await freePort();
  const pidFile = join(folder, 'apache.pid');
  const configuration = join(folder, 'apache.conf');
  writeFileSync(join(folder, 'mapcache.xml'), cacheOf(www, folder));
  writeFileSync(configuration, configurationOf(folder, port, pidFile));
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

function configurationOf(folder: string, port: number, pidFile: string): string {
  return `
ServerRoot ${folder}
ServerName localhost
User nobody
Listen 127.0.0.1:${port}
PidFile ${pidFile}
ErrorLog ${join(folder, 'apache-error.log')}
LogLevel error
LoadModule mpm_event_module ${MODULES}/mod_mpm_event.so
LoadModule authz_core_module ${MODULES}/mod_authz_core.so
LoadModule mapcache_module ${MODULES}/mod_mapcache.so
MaxKeepAliveRequests 0
StartServers 1
ServerLimit 16
ThreadsPerChild 64
MaxRequestWorkers 1024
MapCacheAlias /mapcache ${join(folder, 'mapcache.xml')}
`;
}
