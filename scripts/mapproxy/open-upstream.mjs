import { once } from 'node:events';
import { createServer } from 'node:http';
import sharp from 'sharp';

/** The port of map servers in MapProxy's fixtures. */
const PORT = 42423;
const HOSTS = ['127.0.0.1', '::1'];
const TILE = 256;

/** A stand-in for all map servers of MapProxy's fixtures: returns a picture of the requested size, or 500 if `fails`. */
export async function openUpstream() {
  const upstream = {
    fails: false,
    async close() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
  const handle = async ({ url }, response) => {
    if (upstream.fails) return response.writeHead(500).end('failed');
    const { type, body } = await answerTo(new URL(url, 'http://localhost'));
    response.writeHead(200, { 'content-type': type }).end(body);
  };
  const servers = HOSTS.map((host) => createServer(handle).listen(PORT, host));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  return upstream;
}

async function answerTo({ pathname, searchParams }) {
  const query = new Map([...searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  const info = query.get('info_format') ?? (/identify/i.test(pathname) ? 'application/json' : null);
  if (/featureinfo/i.test(query.get('request') ?? '') || info) return infoIn(info ?? 'text/plain');
  const [width, height] = (query.get('size') ?? '').split(',').map(Number);
  const size = {
    width: Number(query.get('width')) || width || TILE,
    height: Number(query.get('height')) || height || TILE,
  };
  const format = /jpe?g/i.test(query.get('format') ?? pathname) ? 'jpeg' : 'png';
  const picture = sharp({ create: { ...size, channels: 3, background: '#2a7' } });
  return { type: `image/${format}`, body: await picture.toFormat(format).toBuffer() };
}

function infoIn(type) {
  if (/json/.test(type)) return { type, body: '{"type":"FeatureCollection","features":[]}' };
  if (/xml|gml/.test(type)) return { type, body: '<info/>' };
  return { type, body: /html/.test(type) ? '<html><body><p>info</p></body></html>' : 'info' };
}
