import { createReadStream } from 'node:fs';
import { cutLines } from '../lib/scan-text.ts';
import { misuse } from './command.ts';

/** Longer addresses are not tiles. */
const MAX_ADDRESS = 2000;
/** The rest of a longer line is left out. */
const MAX_LINE = 16_384;
const STANDARD_INPUT = '-';

/** Addresses that were answered with a picture or 304. `file`: Combined Log Format or lines of JSON, in any mixture; `-` is standard input. */
export async function* answeredRequests(file: string, flag: string): AsyncGenerator<string> {
  const input = file === STANDARD_INPUT ? process.stdin : createReadStream(file);
  try {
    for await (const line of cutLines(input.setEncoding('utf8'), MAX_LINE)) {
      const address = tileRequestIn(line);
      if (address !== null) yield address;
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw misuse(`--${flag} ${file} cannot be read: ${why}`);
  }
}

/** `… "GET /tiles/… HTTP/1.1" 200 …` */
const COMBINED = /"(?:GET|HEAD) (\S+)(?: HTTP\/[\d.]+)?" (\d{3}) /;

/** The address of a request that was answered with a picture or 304; null: another request, or a damaged line. */
export function tileRequestIn(line: string): string | null {
  const [address = '', status = 0] = line.startsWith('{') ? jsonRequest(line) : combinedRequest(line);
  const wasAnswered = (status >= 200 && status < 300) || status === 304;
  return wasAnswered && address !== '' && address.length <= MAX_ADDRESS ? address : null;
}

function combinedRequest(line: string): [string?, number?] {
  const [, address = '', status] = COMBINED.exec(line) ?? [];
  return [address.replace(/\\x([0-9a-f]{2})/gi, '%$1'), Number(status)];
}

/** As Tilewarden writes it: `method`, `path`, `status`. */
function jsonRequest(line: string): [string?, number?] {
  try {
    const { method, path, status } = JSON.parse(line) as Record<string, unknown>;
    const reads = method === 'GET' || method === 'HEAD';
    return reads && typeof path === 'string' ? [path, Number(status)] : [];
  } catch {
    return [];
  }
}
