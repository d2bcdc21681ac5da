import { createHash } from 'node:crypto';
import type { TileSetKey } from './tile-key.ts';

/** Headers by which a CDN knows the keys of what it keeps. */
export const KEY_HEADERS = ['Surrogate-Key', 'Cache-Tag', 'xkey'] as const;
export type KeyHeader = (typeof KEY_HEADERS)[number];

/** Names that may be read in a key as they are; others are hashed. */
const READABLE = /^[\w.:-]{1,64}$/;
/** 96 bits in 16 characters: keys of two pages differ, and a purge of many is short. */
const HASH_LENGTH = 16;

export function joinKeys(keys: readonly string[], header: KeyHeader | null): string {
  return keys.join(header === 'Cache-Tag' ? ',' : ' ');
}

/** On every tile of the layer. Without space or comma, as all keys. */
export function layerKey(layer: string): string {
  return `layer-${READABLE.test(layer) ? layer : hashOf(layer)}`;
}

/** On every tile of one page of a tile set, whichever declaration it was made by. */
export function pageKey(set: TileSetKey, z: number, pageX: number, pageY: number): string {
  const { layer, gridSet, format, parametersId } = set;
  return `page-${hashOf(JSON.stringify([layer, gridSet, format, parametersId, z, pageX, pageY]))}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, HASH_LENGTH);
}
