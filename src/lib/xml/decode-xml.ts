import { XmlError } from './xml-element.ts';

/** The encodings that clients of this kind send. UTF-7 and the like are how filters are got round. */
const ENCODINGS: ReadonlySet<string> = new Set(['utf-8', 'us-ascii', 'iso-8859-1', 'windows-1252', 'utf-16']);
const DECLARED = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.-]{1,40})["']/;
const START = { line: 1, column: 1 };

/** XML 1.0, 4.3.3: a byte-order mark, then the declaration, then UTF-8. Throws `XmlError`. */
export function decodeXml(bytes: Buffer): string {
  const encoding = markedEncoding(bytes) ?? declaredEncoding(bytes) ?? 'utf-8';
  if (!ENCODINGS.has(encoding) && !encoding.startsWith('utf-16')) {
    throw new XmlError(`the encoding ${encoding} is not known here; use UTF-8`, START);
  }
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new XmlError(`the document is not valid ${encoding}`, START);
  }
}

function markedEncoding(bytes: Buffer): string | null {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return null;
}

function declaredEncoding(bytes: Buffer): string | null {
  const declared = DECLARED.exec(bytes.subarray(0, 200).toString('latin1'))?.[1]?.toLowerCase() ?? null;
  // A document that can be read byte by byte up to here is not UTF-16, whatever it says.
  return declared?.startsWith('utf-16') ? 'utf-8' : declared;
}
