/** Servers of other projects, beside which hits are measured. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../test/fixtures/eventually.ts';
import { freePort } from '../../test/fixtures/network.ts';
import type { Contestant } from './load.ts';
import { childrenOf, endProcess, requireProgram, spawnBeside } from './processes.ts';

const MODULES = '/usr/lib/apache2/modules';

export interface PeerOptions extends Pick<Contestant, 'name' | 'prefix' | 'tiles'> {
  readonly program: string;
  /** Arguments that keep it in the foreground. */
  args(port: number): readonly string[];
}

export async function startPeer({ program, args, ...peer }: PeerOptions): Promise<Contestant> {
  const port = await freePort();
  const child = await spawnBeside(program, args(port), { stdio: ['ignore', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${port}`;
  await eventually(`${peer.name} answers`, () => fetch(url).then(Boolean, () => false));
  const pid = child.pid ?? 0;
  return { ...peer, url, pids: () => [pid, ...childrenOf(pid)], stop: () => endProcess(child) };
}

/** Apache with mod_mapcache: threads on every core, no log of requests. `cache`: the configuration of MapCache. */
export function startApache(
  folder: string,
  cache: string,
  peer: Pick<Contestant, 'prefix' | 'tiles'>,
): Promise<Contestant> {
  const [file, cacheFile] = [join(folder, 'apache.conf'), join(folder, 'mapcache.xml')];
  writeFileSync(cacheFile, cache);
  return startPeer({
    ...peer,
    name: 'mod_mapcache',
    program: requireProgram('apache2', 'libapache2-mod-mapcache'),
    args(port) {
      writeFileSync(file, apacheConfig(folder, port, cacheFile));
      return ['-f', file, '-D', 'FOREGROUND'];
    },
  });
}

function apacheConfig(folder: string, port: number, cacheFile: string): string {
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
StartServers 1
ServerLimit 16
ThreadsPerChild 64
MaxRequestWorkers 1024
<Location />
  Require all granted
</Location>
MapCacheAlias /mapcache ${cacheFile}
`;
}
