// A process: serves the files of a folder from memory, by node:http alone. Arguments: port, folder, headers as JSON.
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const [port, www = '', headers = '[]'] = process.argv.slice(2);
const common: readonly string[] = JSON.parse(headers);
const tiles = new Map<string, Buffer>();
for (const entry of readdirSync(www, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const file = join(entry.parentPath, entry.name);
  tiles.set(file.slice(www.length), readFileSync(file));
}
createServer((request, response) => {
  const tile = tiles.get(request.url ?? '');
  if (!tile) return response.writeHead(404).end();
  response.writeHead(200, [...common, 'Content-Length', String(tile.length)]);
  return response.end(tile);
}).listen(Number(port), '127.0.0.1');
