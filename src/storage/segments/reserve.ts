import { existsSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isNoRoom } from '../../lib/error-code.ts';

const RESERVE_BYTES = 2 * 1024 ** 2;
/** Bytes that it leaves free. */
const REST = 128 * 1024;

/** Room that was taken while there was some, so that tiles can be removed and marks be raised on a full disk. */
export class Reserve {
  readonly #path: string;
  readonly #making: string;

  constructor(root: string) {
    this.#path = join(root, 'reserve');
    this.#making = join(root, 'reserve-making');
  }

  /** When there is little room, it takes that: tiles must not. */
  refill(): void {
    if (existsSync(this.#path)) return;
    try {
      const { bavail, bsize } = statfsSync(join(this.#path, '..'));
      const bytes = Math.min(RESERVE_BYTES, bavail * bsize - REST);
      if (bytes < REST) return;
      writeFileSync(this.#making, Buffer.alloc(bytes, 1));
      renameSync(this.#making, this.#path);
    } catch {
      // A disk that may only be read, or has no room after all.
      rmSync(this.#making, { force: true });
    }
  }

  use<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!isNoRoom(error) || !existsSync(this.#path)) throw error;
      rmSync(this.#path, { force: true });
      return work();
    }
  }
}
