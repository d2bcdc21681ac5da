import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Layer } from '../../domain/layer.ts';
import type { ServiceDescription } from '../../domain/service-description.ts';
import { escapeXml } from '../../lib/xml/write-xml.ts';
import type { Html as Markup } from '../answer/html.ts';

/** Stands for the server's own address until that is known. Nobody's name can hold it: XML has no such character. */
export const BASE: Markup = { markup: '\0' };

/** Writes a document about layers, one step for each layer or so. */
export type DocumentWriter = (layers: readonly Layer[], service: ServiceDescription) => Iterable<string>;

/** A document without the address of the server, which every caller may call by another name. */
export interface DocumentTemplate {
  readonly layers: readonly Layer[];
  readonly pieces: readonly string[];
  /** Of all pieces as UTF-8. */
  readonly bytes: number;
  /** How often the address stands in it. */
  readonly addresses: number;
  readonly digest: string;
}

/** Characters that are written before others get their turn; a few milliseconds. */
const PIECE = 64 * 1024;

export async function writeTemplate(
  write: DocumentWriter,
  layers: readonly Layer[],
  service: ServiceDescription,
): Promise<DocumentTemplate> {
  const hash = createHash('sha1');
  const pieces: string[] = [];
  let [bytes, addresses, piece] = [0, 0, ''];
  const end = () => {
    hash.update(piece);
    bytes += Buffer.byteLength(piece);
    addresses += piece.split(BASE.markup).length - 1;
    pieces.push(piece);
    piece = '';
  };
  for (const text of write(layers, service)) {
    piece += text;
    if (piece.length < PIECE) continue;
    end();
    await nextTurn();
  }
  end();
  return { layers, pieces, bytes, addresses, digest: hash.digest('base64url') };
}

export type AddressedDocument = ReturnType<typeof addressed>;

/** The document as it goes to callers who know the server by this address. */
export function addressed(template: DocumentTemplate, base: string) {
  const address = escapeXml(base);
  const { digest, addresses, pieces } = template;
  const id = addresses === 0 ? digest : createHash('sha1').update(`${digest} ${address}`).digest('base64url');
  const grown = Buffer.byteLength(address) - Buffer.byteLength(BASE.markup);
  return {
    /** Another one for other bytes. */
    id,
    bytes: template.bytes + addresses * grown,
    /** Piece by piece, with turns for others between. */
    async *pieces(): AsyncIterable<Buffer> {
      for (const piece of pieces) {
        yield Buffer.from(piece.replaceAll(BASE.markup, () => address));
        if (pieces.length > 1) await nextTurn();
      }
    },
  };
}
