import type { ChangedPlace } from '../domain/place-in-grid-set.ts';

export const CHANGE_ACTIONS = ['invalidate', 'renew', 'truncate'] as const;

export interface Change {
  /** Some of the feed's; null: all of them. */
  readonly layers: readonly string[] | null;
  /** Null: the whole layer. Without polygons: nothing. */
  readonly place: ChangedPlace | null;
}

export interface ChangeRules {
  readonly action: (typeof CHANGE_ACTIONS)[number];
  /** Pixels. */
  readonly buffer: number;
  readonly zoomStart?: number | undefined;
  readonly zoomStop?: number | undefined;
}

export type FeedState = 'ok' | 'failing';

export interface FeedStatus {
  readonly name: string;
  readonly type: string;
  readonly layers: readonly string[];
  /** `list`: it lists times, and changes no tiles. */
  readonly action: ChangeRules['action'] | 'list';
  readonly state: FeedState;
  /** Of the latest accepted change. Milliseconds since 1970. */
  readonly lastAt: number | null;
  readonly lastError: string | null;
  readonly received: number;
  readonly applied: number;
  readonly pending: number;
}
