import type { Generated } from 'kysely';
import type { Json, ServerTime, Time } from './columns.ts';

/** Tables of what comes in and goes out when data change. */
export interface ChangeSchema {
  /** How each feed of data changes is doing. Counts only rise. */
  change_feeds: {
    name: string;
    state: string;
    last_at: number | null;
    last_error: string | null;
    received: number;
    applied: number;
    pending: number;
    /** Time of the newest entry that was applied. */
    newest: number | null;
  };
  /** Accepted changes of the last day. */
  changes: {
    id: Generated<number>;
    feed: string;
    at: Time;
    /** As the sender named it. */
    event_id: string | null;
    /** How many changes it stands for. */
    merged: number;
    /** JSON list of names. */
    layers: string;
    /** JSON: boxes in WGS 84; null: the whole layers. */
    boxes: string | null;
  };
  /** Entries of feeds that were applied. */
  change_entries: { feed: string; id: string; at: Time; seen_at: Time };
  /** Requests to other programs, waiting or done. */
  deliveries: {
    /** Rises: the order in which they came. */
    number: Generated<number>;
    /** Random, the same in every repeat. */
    id: string;
    kind: string;
    name: string;
    state: string;
    payload: Json;
    /** Rises whenever the payload changes: an attempt that sent a former one does not end it. */
    revision: number;
    attempts: number;
    last_error: string | null;
    at: ServerTime;
    /** No attempt begins before this time. */
    next_at: ServerTime;
    /** It is given up after this time. */
    until: ServerTime;
  };
  /** What notifications were sent about and has not recovered since: each transition is reported once. */
  reported_states: { subject: string; at: ServerTime };
}
