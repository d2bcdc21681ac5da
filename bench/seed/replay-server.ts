/** The process of `openReplayUpstream`: a WMS that sends pictures that were made before, each after the same time. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openMapServer } from '../../test/fixtures/mapserver/mapserver.ts';
import { loadPictures, type Pictures, picturesOfOneKind, placeOf } from './pictures.ts';
import type { Replayed, UpstreamFigures } from './replay-upstream.ts';

const MAPSERVER = '/usr/bin/mapserv';

let pictures: Pictures = picturesOfOneKind();
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
  const answer = () => response.writeHead(200, headers).end(bytes);
  if (delayMs === 0) answer();
  else setTimeout(answer, delayMs);
});

async function replay({ picture, zoom, ...wanted }: Replayed): Promise<string | null> {
  delayMs = wanted.delayMs;
  [requests, active, idleMs, busyMs] = [0, 0, 0, 0];
  mapServer ??= picture === 'drawn' ? await openMapServer(MAPSERVER) : null;
  pictures = await loadPictures(picture, zoom, mapServer?.url ?? '');
  return mapServer?.url ?? null;
}

function figures(): UpstreamFigures {
  const { user, system } = process.cpuUsage();
  const idleShare = idleMs / Math.max(1, idleMs + busyMs);
  return { requests, idleShare, processorMs: (user + system) / 1000 };
}

process.on('message', (wanted: Replayed | null) => {
  if (!wanted) process.send?.(figures());
  else void replay(wanted).then((mapServerUrl) => process.send?.({ mapServerUrl }));
});
process.on('disconnect', () => {
  void mapServer?.close().finally(() => process.exit());
  if (!mapServer) process.exit();
});
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/wms` });
});
