/** A growing run of points in pixels, reused from shape to shape so that drawing leaves little garbage. */
export class PixelPath {
  #xs = new Float64Array(1024);
  #ys = new Float64Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  clear(): void {
    this.#length = 0;
  }

  x(place: number): number {
    return this.#xs[place] ?? 0;
  }

  y(place: number): number {
    return this.#ys[place] ?? 0;
  }

  /** A point equal to the one before it adds nothing. */
  add(x: number, y: number): void {
    const last = this.#length - 1;
    if (last >= 0 && this.#xs[last] === x && this.#ys[last] === y) return;
    if (this.#length === this.#xs.length) this.#grow();
    this.#xs[this.#length] = x;
    this.#ys[this.#length] = y;
    this.#length++;
  }

  #grow(): void {
    const xs = new Float64Array(this.#length * 2);
    const ys = new Float64Array(this.#length * 2);
    xs.set(this.#xs);
    ys.set(this.#ys);
    this.#xs = xs;
    this.#ys = ys;
  }
}
