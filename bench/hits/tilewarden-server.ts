import { FROM_BUILD, startServerProcess } from '../harness/server-process.ts';
import { type Contestant, childrenOf } from './measure-hits.ts';

/** The built server with its built-in map. `memoryTier` 0: every hit comes from the store. */
export async function startTilewarden(
  name: string,
  data: string,
  memoryTier: string,
  processes = 1,
): Promise<Contestant> {
  const configuration = `memoryTier: { size: ${memoryTier} }\nlog: { level: warn }\n`;
  const flags = ['--processes', String(processes)];
  const { url, pid, stop } = await startServerProcess(data, configuration, FROM_BUILD, flags);
  return { name, url, prefix: '/tiles/world', pids: () => [pid, ...childrenOf(pid)], stop };
}
