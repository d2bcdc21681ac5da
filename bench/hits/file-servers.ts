/** Servers of other kinds for the same tiles, as files at the same paths. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../../test/fixtures/needs.ts';
import type { Contestant } from '../harness/load.ts';
import { startApache, startPeer } from '../harness/peers.ts';
import { requireProgram, scriptArguments } from '../harness/processes.ts';

export interface Files {
  /** For configurations and logs. */
  readonly folder: string;
  readonly www: string;
  /** The names of the tiles that are requested. */
  readonly tiles: string;
}

/** As Debian sets it up (sendfile, tcp_nopush), but without a log and with one process, as Tilewarden. */
export function startNginx({ folder, www, tiles }: Files): Promise<Contestant> {
  const file = join(folder, 'nginx.conf');
  return startPeer({
    name: 'nginx',
    prefix: '/tiles/world',
    tiles,
    program: requireProgram('nginx', 'nginx-light'),
    args(port) {
      writeFileSync(file, nginxConfig(folder, www, port));
      return ['-c', file, '-p', folder];
    },
  });
}

function nginxConfig(folder: string, www: string, port: number): string {
  return `
daemon off;
worker_processes 1;
pid ${join(folder, 'nginx.pid')};
error_log ${join(folder, 'nginx-error.log')};
events { worker_connections 768; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000;
  types { image/png png; }
  client_body_temp_path ${join(folder, 'nginx-body')};
  server { listen 127.0.0.1:${port}; root ${www}; }
}
`;
}

/** The least that Node.js can do: the tiles from memory with these headers, without any check. */
export function startBareNode(
  name: string,
  { www, tiles }: Files,
  headers: readonly string[],
): Promise<Contestant> {
  const script = new URL('./bare-node-server.ts', import.meta.url);
  return startPeer({
    name: `bare node:http, ${name}`,
    prefix: '/tiles/world',
    tiles,
    program: process.execPath,
    args: (port) => scriptArguments(script, String(port), www, JSON.stringify(headers)),
  });
}

/** None where Apache or its module is not installed. */
export async function startMapCache({ folder, www, tiles }: Files): Promise<readonly Contestant[]> {
  if (!findProgram('apache2') || !existsSync('/usr/lib/apache2/modules/mod_mapcache.so')) return [];
  const cache = `<?xml version="1.0" encoding="UTF-8"?>
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
  return [await startApache(folder, cache, { prefix: '/mapcache/gmaps/world@GoogleMapsCompatible', tiles })];
}
