/** A limit of concurrent uses, in all and per account. */
export class CallerPlaces {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  constructor(most: number, mostOfOne: number) {
    this.#most = most;
    this.#mostOfOne = mostOfOne;
  }

  hasRoom(account: string): boolean {
    return this.#total < this.#most && (this.#taken.get(account) ?? 0) < this.#mostOfOne;
  }

  /** Call the result once to release the place. */
  take(account: string): () => void {
    this.#add(account, 1);
    return () => this.#add(account, -1);
  }

  #add(account: string, by: 1 | -1): void {
    const own = (this.#taken.get(account) ?? 0) + by;
    this.#total += by;
    if (own === 0) this.#taken.delete(account);
    else this.#taken.set(account, own);
  }
}
