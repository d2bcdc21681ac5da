import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { sharedMapServer } from '../fixtures/shared-services.ts';
import { temporaryFolder } from '../fixtures/when-over.ts';
import { type OpenServer, openServer } from './server-in-process.ts';

/** A server in this process with layers from MapServer, and a folder for the programs that read from it. */
export interface ServerBeforeMapServer {
  readonly server: OpenServer;
  readonly mapServer: { readonly url: string };
  readonly folder: string;
  /** The output of the program; it must end with 0. */
  run(program: string, args: readonly string[], input?: string): Promise<string>;
}

export async function openServerBeforeMapServer(
  config: (url: string) => string,
): Promise<ServerBeforeMapServer> {
  const folder = temporaryFolder();
  const mapServer = await sharedMapServer();
  return {
    server: await openServer({ config: config(mapServer.url) }),
    mapServer,
    folder,
    run: (command, args, input = '') => runIn(folder, command, args, input),
  };
}

async function runIn(
  folder: string,
  program: string,
  args: readonly string[],
  input: string,
): Promise<string> {
  const env = {
    ...process.env,
    GDAL_DEFAULT_WMS_CACHE_PATH: join(folder, 'gdal-cache'),
    GDAL_PAM_ENABLED: 'NO',
  };
  const child = await started(spawn(program, args, { cwd: folder, env }));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  child.stdin.end(input);
  const [code] = await once(child, 'close');
  expect(code, output).toBe(0);
  return output;
}
