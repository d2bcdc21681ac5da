/** One tile as it lies in an archive. */
export interface ArchivedTile {
  readonly bytes: Buffer;
  /** What the archive says its tiles are; null when it does not. */
  readonly mediaType: string | null;
}

/** Tiles in one file. Rows count from the top. Failures are `source-unavailable` or `source-bad-answer`. */
export interface Archive {
  /** Null: it has none there. */
  tile(z: number, x: number, y: number, access: ArchiveAccess): Promise<ArchivedTile | null>;
  /** What it says of itself, e.g. `vector_layers`; plain JSON, not checked. */
  metadata(access: ArchiveAccess): Promise<Readonly<Record<string, unknown>>>;
  close(): Promise<void>;
}

export interface ArchiveAccess {
  readonly priority: 'interactive' | 'task';
  readonly signal: AbortSignal;
}

export const VECTOR_TILE = 'application/vnd.mapbox-vector-tile';
