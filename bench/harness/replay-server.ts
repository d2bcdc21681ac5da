// The process of `openReplayUpstream`: a WMS that sends finished pictures, each after the same time.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openMapServer } from '../../test/fixtures/mapserver.ts';
import { programPath } from '../../test/fixtures/needs.ts';
import { loadPictures, picturesOfOneKind, placeOf } from './pictures.ts';
import type { Replay, UpstreamFigures } from './replay-upstream.ts';

let pictures = picturesOfOneKind();
let delayMs = 0;
let mapServer: Awaited<ReturnType<typeof openMapServer>> | null = null;
let [requests, active, idleMs, busyMs, changedAt] = [0, 0, 0, 0, 0];

function count(change: 1 | -1): void {
  const now = performance.now();
  if (active > 0) busyMs += now - changedAt;
  else if (requests > 0) idleMs += now - changedAt;
  active += change;
  changedAt = now;
}

const server = createServer((request, response) => {
  count(1);
  requests++;
  response.on('close', () => count(-1));
  const bytes = pictures.of(placeOf(new URLSearchParams(request.url?.toLowerCase().split('?')[1])));
  const headers = { 'content-type': pictures.mediaType, 'content-length': bytes.length };
  const send = () => response.writeHead(200, headers).end(bytes);
  if (delayMs === 0) send();
  else setTimeout(send, delayMs);
});

async function replay({ picture, zoom = 0, ...next }: Replay): Promise<string | null> {
  delayMs = next.delayMs;
  [requests, active, idleMs, busyMs] = [0, 0, 0, 0];
  if (picture === 'drawn') mapServer ??= await openMapServer(programPath('mapserver'));
  pictures = picture ? await loadPictures(picture, zoom, mapServer?.url ?? '') : picturesOfOneKind();
  return mapServer?.url ?? null;
}

function figures(): UpstreamFigures {
  const { user, system } = process.cpuUsage();
  const idleShare = idleMs / Math.max(1, idleMs + busyMs);
  return { requests, idleShare, processorMs: (user + system) / 1000 };
}

process.on('message', (message: Replay | 'figures') => {
  if (message === 'figures') process.send?.(figures());
  else void replay(message).then((mapServerUrl) => process.send?.(mapServerUrl));
});
process.on('disconnect', () => {
  void Promise.resolve(mapServer?.close()).finally(() => process.exit());
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/wms`);
});
