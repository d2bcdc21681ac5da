import { createHash } from 'node:crypto';
import type { TileSetKey } from '../domain/tile-key.ts';

/** Enough for a person to recognise a name by; the hash after it makes it unique. */
const READABLE_CHARACTERS = 40;
/** Hexadecimal digits: 80 bits. */
const HASH_DIGITS = 20;

/** Without the layer. */
export function readableSetName({ gridSet, format, parametersId, incarnation = '' }: TileSetKey): string {
  const identity = [gridSet, format, parametersId];
  const all = incarnation === '' ? identity : [...identity, incarnation];
  return readableName(`${gridSet} ${format}`, all);
}

/** `topp:states` → `topp-states-…`: nothing of a name but its letters and digits gets into a path. */
export function readableName(readable: string, identity: readonly (string | null)[]): string {
  const slug = readable
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, READABLE_CHARACTERS);
  const hash = createHash('sha256').update(JSON.stringify(identity)).digest('hex').slice(0, HASH_DIGITS);
  return `${slug}-${hash}`;
}
