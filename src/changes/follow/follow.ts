import type { FeedStatus } from '../change-options.ts';

export const FOLLOWED_TYPES = ['wms', 'wmts', 'geoserver'] as const;

/** A map server whose layers are mirrored here. */
export interface FollowSettings {
  readonly name: string;
  readonly type: (typeof FOLLOWED_TYPES)[number];
  readonly url: string;
  /** Seconds between passes. */
  readonly every: number;
  /** Patterns of the server's names. */
  readonly layers: readonly string[];
  /** Before the server's names. */
  readonly prefix: string;
  readonly new: 'declare' | 'report';
  readonly gone: 'disable' | 'report';
  /** Names; null: every fitting one. */
  readonly gridSets: readonly string[] | null;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Digests of a layer's drawing rules, by style; empty: the default style. */
export type Drawing = Readonly<Record<string, string>>;

export interface LayerDocument {
  readonly name: string;
  readonly [field: string]: unknown;
}

/** The current state of a map server. */
export interface ServiceState {
  /** All layers of the server, unsupported ones included. */
  readonly names: ReadonlySet<string>;
  /** Wanted layers that can be served, by the server's names: digests of their documents. */
  readonly layers: ReadonlyMap<string, string>;
  /** Reads documents of some of them. */
  readonly documents: (names: ReadonlySet<string>) => Promise<ServiceDocuments>;
  /** Wanted layers that cannot be served. */
  readonly left: readonly { readonly layer: string; readonly reason: string }[];
  /** Rises with every change of the server's configuration; null: the server does not number them. */
  readonly sequence: string | null;
  /** By the server's names; null of a layer: it cannot be read. Null: they were not read. */
  readonly drawings: ReadonlyMap<string, Drawing | null> | null;
}

/** In the configuration file's form. */
export interface ServiceDocuments {
  /** By the server's names. */
  readonly layers: ReadonlyMap<string, LayerDocument>;
  /** To be declared before the layers. */
  readonly gridSets: readonly LayerDocument[];
}

/** Action of a pass, or of its dry run, on a layer. */
export const CHANGING_ACTIONS = ['declared', 'changed', 'enabled', 'disabled', 'marked'] as const;
/** Differences that are only reported. */
const REPORTED_ACTIONS = ['new', 'missed', 'gone', 'left'] as const;
export const PASS_ACTIONS = [...CHANGING_ACTIONS, ...REPORTED_ACTIONS] as const;
export type PassAction = (typeof PASS_ACTIONS)[number];

export interface PassEntry {
  readonly layer: string;
  readonly action: PassAction;
  /** Changed fields, or a reason; null: the action is explanation enough. */
  readonly detail: string | null;
}

export interface PassReport {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly counts: Readonly<Record<PassAction, number>>;
  /** The first thousand; `counts` counts all. */
  readonly entries: readonly PassEntry[];
}

export interface FollowStatus extends Pick<FeedStatus, 'name' | 'state' | 'lastError'> {
  readonly type: FollowSettings['type'];
  /** Time of the latest successful pass, in milliseconds since 1970. */
  readonly lastAt: number | null;
  /** Layers that it keeps in step. */
  readonly layers: number;
  /** Layers that are new, missed or gone, without an action so far. */
  readonly pending: number;
}
