/** Keeps what was used last, up to so many bytes in all. */
export class ByteCache {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, Buffer>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(key: string): Buffer | null {
    const found = this.#entries.get(key);
    if (!found) return null;
    this.#entries.delete(key);
    this.#entries.set(key, found);
    return found;
  }

  set(key: string, value: Buffer): void {
    this.#drop(key);
    this.#entries.set(key, value);
    this.#bytes += sizeOf(key, value);
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const found = this.#entries.get(key);
    if (!found) return;
    this.#entries.delete(key);
    this.#bytes -= sizeOf(key, found);
  }
}

/** Keys are text that callers may have chosen. */
function sizeOf(key: string, value: Buffer): number {
  return 2 * key.length + value.length;
}
