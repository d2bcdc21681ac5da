import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { TilewardenError } from '../../domain/errors.ts';

/** Paths of PEM files. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface TlsMaterial {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export const TLS_MINIMUM = 'TLSv1.2';

/** Throws `config-invalid` when the files cannot be read or do not belong together. */
export async function readTlsFiles({ certificate, key }: TlsFiles): Promise<TlsMaterial> {
  const material = { cert: await readPem(certificate), key: await readPem(key) };
  try {
    createSecureContext(material);
  } catch (cause) {
    throw new TilewardenError(
      'config-invalid',
      'server.tls: the certificate and the key cannot be used together.',
      { cause },
    );
  }
  return material;
}

async function readPem(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new TilewardenError('config-invalid', `server.tls: the file ${path} cannot be read.`, { cause });
  }
}
