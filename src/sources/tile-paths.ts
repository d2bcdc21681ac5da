import type { TileIndex } from '../domain/tile-key.ts';

/** Folders and name, without extension, of a tile's file in another program's cache. */
export type TilePath = readonly string[];

/** Names of TileCache: `09/001/234/567/087/654/321`. */
export function inThousands({ z, x, y }: TileIndex): TilePath {
  return [
    digits(z, 2),
    ...[x, y].flatMap((n) => [n / 1e6, (n / 1e3) % 1e3, n % 1e3].map((n) => digits(n, 3))),
  ];
}

/** `11` for 2/3/0, all in one folder; empty for the only tile of zoom 0. */
export function byQuadkey({ z, x, y }: TileIndex): TilePath {
  const digit = (bit: number) => (Math.floor(x / bit) % 2) + 2 * (Math.floor(y / bit) % 2);
  return [Array.from({ length: z }, (_, i) => digit(2 ** (z - 1 - i))).join('')];
}

/** `L09/R05397fb1/C0012d687`. */
export function inHexadecimal({ z, x, y }: TileIndex): TilePath {
  const hexadecimal = (n: number) => n.toString(16).padStart(8, '0');
  return [`L${digits(z, 2)}`, `R${hexadecimal(y)}`, `C${hexadecimal(x)}`];
}

export function digits(number: number, width: number): string {
  return String(Math.floor(number)).padStart(width, '0');
}
