/** A JPEG as nearly every map server writes them: one scan, eight bits, chroma at half the size. */
export interface OrdinaryJpeg {
  /** Steps of the numbers in the order of the file: luma, chroma. */
  readonly steps: readonly [Uint8Array, Uint8Array];
  /** Codes for the first number of a block, of luma and chroma; then for the others. Counts, then symbols. */
  readonly codes: readonly Uint8Array[];
  /** The data of the scan, up to the marker that ends the file. */
  readonly scan: Buffer;
}

interface Component {
  readonly id: number;
  readonly sampling: number;
  readonly steps: number;
}

/** ITU-T T.81, table B.1; JFIF and Adobe's segments. */
const START_OF_IMAGE = 0xffd8;
const END_OF_IMAGE = 0xffd9;
const BASELINE = 0xc0;
const CODES = 0xc4;
const STEPS = 0xdb;
const SCAN = 0xda;
const JFIF = 0xe0;
const ADOBE = 0xee;
const COMMENT = 0xfe;
/** Segments of applications, except the third, which holds colour profiles: they do not change a pixel. */
const HARMLESS = new Set([
  JFIF,
  0xe1,
  0xe3,
  0xe4,
  0xe5,
  0xe6,
  0xe7,
  0xe8,
  0xe9,
  0xea,
  0xeb,
  0xec,
  0xed,
  0xef,
]);
/** Four blocks of luma to one of each chroma. */
const SAMPLINGS = [0x22, 0x11, 0x11];
const TABLE_LENGTH = 64;
/** From the first to the last number of a block, in one go. */
const WHOLE_BLOCKS = [0, 63, 0];

/** Null for whatever is unusual, damaged or of another size: the image library decides then. */
export function readOrdinaryJpeg(bytes: Buffer, width: number, height: number): OrdinaryJpeg | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== START_OF_IMAGE) return null;
  if (bytes.readUInt16BE(bytes.length - 2) !== END_OF_IMAGE) return null;
  const steps = new Map<number, Uint8Array>();
  const codes = new Map<number, Uint8Array>();
  let components: readonly Component[] | null = null;
  let isLumaAndChroma = false;
  for (let at = 2; at + 4 <= bytes.length; ) {
    const end = at + 2 + bytes.readUInt16BE(at + 2);
    if (bytes[at] !== 0xff || end > bytes.length) return null;
    const [kind = 0, content] = [bytes[at + 1], bytes.subarray(at + 4, end)];
    if (kind === SCAN) {
      if (!components || !(isLumaAndChroma || hasUsualNames(components))) return null;
      return scanOf(content, components, steps, codes, bytes.subarray(end, -2));
    }
    if (kind === BASELINE) components = components ? null : componentsOf(content, width, height);
    if (kind === BASELINE && !components) return null;
    if (kind === STEPS && !takeSteps(content, steps)) return null;
    if (kind === CODES && !takeCodes(content, codes)) return null;
    if (kind === ADOBE && content[11] !== 1) return null;
    isLumaAndChroma ||= kind === ADOBE || (kind === JFIF && content.toString('latin1', 0, 4) === 'JFIF');
    if (![BASELINE, STEPS, CODES, ADOBE, COMMENT].includes(kind) && !HARMLESS.has(kind)) return null;
    at = end;
  }
  return null;
}

/** Without a word about it three components are luma and chroma when they are called so. */
function hasUsualNames(components: readonly Component[]): boolean {
  return components.every(({ id }, i) => id === i + 1);
}

function componentsOf(content: Buffer, width: number, height: number): readonly Component[] | null {
  if (content.length !== 15 || content[0] !== 8 || content[5] !== 3) return null;
  if (content.readUInt16BE(1) !== height || content.readUInt16BE(3) !== width) return null;
  const components = [6, 9, 12].map((at) => {
    const [id = 0, sampling = 0, steps = 0] = content.subarray(at, at + 3);
    return { id, sampling, steps };
  });
  const [, blue, red] = components;
  const isUsual = components.every(({ sampling }, i) => sampling === SAMPLINGS[i]);
  return isUsual && blue?.steps === red?.steps ? components : null;
}

/** Of eight bits each, and none of them zero. */
function takeSteps(content: Buffer, steps: Map<number, Uint8Array>): boolean {
  for (let at = 0; at < content.length; at += 1 + TABLE_LENGTH) {
    const table = content.subarray(at + 1, at + 1 + TABLE_LENGTH);
    if (table.length < TABLE_LENGTH || (content[at] ?? 0) > 3 || table.includes(0)) return false;
    steps.set(content[at] ?? 0, table);
  }
  return true;
}

/** The fifth bit says whether they are for the first numbers of blocks or for the others. */
function takeCodes(content: Buffer, codes: Map<number, Uint8Array>): boolean {
  for (let at = 0; at < content.length; ) {
    const counts = content.subarray(at + 1, at + 17);
    const end = at + 17 + counts.reduce((sum, count) => sum + count, 0);
    if (counts.length < 16 || end > content.length) return false;
    codes.set(content[at] ?? 0, content.subarray(at + 1, end));
    at = end;
  }
  return true;
}

function scanOf(
  content: Buffer,
  components: readonly Component[],
  steps: ReadonlyMap<number, Uint8Array>,
  codes: ReadonlyMap<number, Uint8Array>,
  scan: Buffer,
): OrdinaryJpeg | null {
  if (content.length !== 10 || content[0] !== 3) return null;
  if (!WHOLE_BLOCKS.every((value, i) => content[7 + i] === value)) return null;
  if (!components.every(({ id }, i) => content[1 + 2 * i] === id) || content[4] !== content[6]) return null;
  const [luma = 0, chroma = 0] = [content[2], content[4]];
  const used = [luma >> 4, chroma >> 4, 16 | (luma & 15), 16 | (chroma & 15)].map((id) => codes.get(id));
  const [first, second] = components.map((component) => steps.get(component.steps));
  if (!first || !second) return null;
  const known = used.filter((table) => table !== undefined);
  return known.length === used.length ? { steps: [first, second], codes: known, scan } : null;
}
