import { createHash } from 'node:crypto';
import type { Layer } from '../../../domain/layer.ts';
import type { CapabilitiesWriter } from './capabilities.ts';

export interface CapabilitiesDocument {
  readonly bytes: Buffer;
  readonly etag: string;
}

interface Entry extends CapabilitiesDocument {
  readonly layers: readonly Layer[];
  readonly base: string;
}

/** Callers choose the address by their `Host` header, so both are bounded. */
const MOST_DOCUMENTS = 16;
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Keeps the documents that were asked for last. A layer that has changed is another object, so a document
 * is that of now exactly if it was written for the same layers in the same order.
 */
export function createCapabilitiesCache(write: CapabilitiesWriter) {
  let entries: readonly Entry[] = [];

  return (layers: readonly Layer[], base: string): CapabilitiesDocument => {
    const known = entries.find((entry) => entry.base === base && sameLayers(entry.layers, layers));
    const entry = known ?? makeEntry(layers, base, write);
    entries = withinBounds([entry, ...entries.filter((other) => other !== known)]);
    return entry;
  };
}

function sameLayers(a: readonly Layer[], b: readonly Layer[]): boolean {
  return a.length === b.length && a.every((layer, i) => layer === b[i]);
}

function makeEntry(layers: readonly Layer[], base: string, write: CapabilitiesWriter): Entry {
  const bytes = Buffer.from(write(layers, base));
  const etag = `"${createHash('sha1').update(bytes).digest('hex')}"`;
  return { layers, base, bytes, etag };
}

/** The newest are first. */
function withinBounds(entries: readonly Entry[]): readonly Entry[] {
  let total = 0;
  return entries.slice(0, MOST_DOCUMENTS).filter(({ bytes }) => {
    total += bytes.length;
    return total <= MOST_BYTES;
  });
}
