/** cos(n π / 16) for n from 0 to 8, halved. */
const COSINES: usize = memory.data<f32>([
  0.5, 0.49039264, 0.46193977, 0.41573481, 0.35355339, 0.27778512, 0.19134172, 0.09754516, 0,
]);
/** The first wave is flat, and weighs less. */
const FLAT: f32 = 0.35355339;
const WAVES: usize = memory.data(64 * 4, 16);
let ready: bool = false;
const SUMS: usize = memory.data(8 * 4, 16);
/** Of one edge: two blocks of luma, one of each chroma. */
const LINES: usize = memory.data(4 * 8 * 4, 16);
/** A block of 64 dequantised numbers takes so many bytes. */
const BLOCK_BYTES: usize = 256;

/** How much wave `k` counts at place `i` of eight. */
function wave(i: usize, k: usize): f32 {
  return load<f32>(WAVES + (((i << 3) + k) << 2));
}

function prepareWaves(): void {
  ready = true;
  for (let i = 0; i < 8; i++) {
    for (let k = 0; k < 8; k++) {
      let turn = ((2 * i + 1) * k) & 31;
      if (turn > 16) turn = 32 - turn;
      const half = load<f32>(COSINES + ((turn > 8 ? 16 - turn : turn) << 2));
      store<f32>(WAVES + (((i << 3) + k) << 2), k === 0 ? FLAT : turn > 8 ? -half : half);
    }
  }
}

/** Eight pixels of a block: its first or last row, or column. */
function layLine(block: usize, across: bool, last: bool, to: usize): void {
  const step: usize = across ? 8 : 1;
  const stride: usize = across ? 1 : 8;
  for (let k: usize = 0; k < 8; k++) {
    let sum: f32 = 0;
    for (let j: usize = 0; j < 8; j++) {
      sum += wave(last ? 7 : 0, j) * load<f32>(block + ((j * step + k * stride) << 2));
    }
    store<f32>(SUMS + (k << 2), sum);
  }
  for (let i: usize = 0; i < 8; i++) {
    let sum: f32 = 0;
    for (let k: usize = 0; k < 8; k++) sum += wave(i, k) * load<f32>(SUMS + (k << 2));
    store<f32>(to + (i << 2), sum);
  }
}

/** Sixteen pixels as 0xAABBGGRR along one edge of a group of four blocks of luma and one of each chroma. */
export function layEdge(blocks: usize, across: bool, last: bool, to: usize): void {
  if (!ready) prepareWaves();
  const first: usize = last ? (across ? 2 : 1) : 0;
  layLine(blocks + first * BLOCK_BYTES, across, last, LINES);
  layLine(blocks + (first + (across ? 1 : 2)) * BLOCK_BYTES, across, last, LINES + 32);
  layLine(blocks + 4 * BLOCK_BYTES, across, last, LINES + 64);
  layLine(blocks + 5 * BLOCK_BYTES, across, last, LINES + 96);
  for (let i: usize = 0; i < 16; i++) {
    const luma = load<f32>(LINES + (i << 2));
    const blue = load<f32>(LINES + 64 + ((i >> 1) << 2));
    const red = load<f32>(LINES + 96 + ((i >> 1) << 2));
    store<u32>(to + (i << 2), colourOf(luma, blue, red));
  }
}

/** JFIF 1.02: from luma and chroma, each around zero. */
export function colourOf(luma: f32, blue: f32, red: f32): u32 {
  const r = channel(luma + 1.402 * red);
  const g = channel(luma - 0.344136 * blue - 0.714136 * red);
  const b = channel(luma + 1.772 * blue);
  return 0xff000000 | (b << 16) | (g << 8) | r;
}

function channel(value: f32): u32 {
  return <u32>max<f32>(0, min<f32>(255, nearest<f32>(value + 128)));
}
