import { shortened } from '../domain/errors.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import { type DocumentNode, leaf, nodeOf } from './document-node.ts';
import { type ReadWarnings, type Shape, valuesNamed } from './read-warnings.ts';
import {
  bodyProblem,
  childrenNamed,
  entriesOf,
  integerField,
  textField,
  type WireElement,
} from './wire-element.ts';

const FEED = 'geoRssFeed';
/** GeoWebCache's operations with the actions of a feed; an action is written as its first operation. */
const ACTIONS = new Map([
  ['truncate', 'truncate'],
  ['reseed', 'renew'],
  ['seed', 'renew'],
]);
/** Seconds. */
const MAX_INTERVAL = 86_400;

const SHAPE: Shape = { [FEED]: valuesNamed('feedUrl gridSetId pollInterval operation') };
const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  maxMaskLevel: 'the tiles concerned are exact at every zoom',
  seedingThreads: 'renewals are tasks like others',
  format: 'a change concerns tiles of all formats',
  httpUsername: 'the feed is read without a login',
  httpPassword: 'the feed is read without a login',
};
const NOT_POLLED = 'it has no pollInterval above 0, and is not polled';

/** The GeoRSS feeds of a layer. Throws `request-invalid`. */
export function readUpdateSources(root: WireElement, warnings: ReadWarnings): readonly object[] | undefined {
  for (const list of childrenNamed(root, 'updateSources')) {
    warnings.ignoredWithin(list, SHAPE, WITHOUT_EFFECT, ['updateSources']);
  }
  const feeds = entriesOf(root, 'updateSources', [FEED]) ?? [];
  const read = feeds.flatMap((feed) => readFeed(feed, warnings));
  return read.length === 0 ? undefined : read;
}

function readFeed(feed: WireElement, warnings: ReadWarnings): readonly object[] {
  const url = textField(feed, 'feedUrl');
  if (url === undefined) throw bodyProblem(`A ${FEED} must have a feedUrl`, feed.place);
  const interval = integerField(feed, 'pollInterval') ?? 0;
  const action = readAction(feed);
  const gridSet = textField(feed, 'gridSetId') || undefined;
  const path = ['updateSources', FEED];
  if (interval <= 0) {
    warnings.ignored(path, NOT_POLLED);
    return [];
  }
  if (interval > MAX_INTERVAL)
    warnings.changed([...path, 'pollInterval'], `is read as ${MAX_INTERVAL}, a day`);
  return [omitUndefined({ url, gridSet, intervalSeconds: Math.min(interval, MAX_INTERVAL), action })];
}

function readAction(feed: WireElement): string {
  const operation = textField(feed, 'operation') || 'truncate';
  const action = ACTIONS.get(operation.toLowerCase());
  if (action !== undefined) return action;
  throw bodyProblem(`operation must be truncate, reseed or seed, not "${shortened(operation)}"`, feed.place);
}

export function writeUpdateSources(sources: unknown): DocumentNode | null {
  if (!Array.isArray(sources) || sources.length === 0) return null;
  return nodeOf('updateSources', sources.filter(isRecord).map(writeFeed));
}

function writeFeed({ url, gridSet, intervalSeconds, action }: Readonly<Record<string, unknown>>) {
  const [operation] = [...ACTIONS].find(([, done]) => done === action) ?? ['truncate'];
  return nodeOf(FEED, [
    leaf('feedUrl', String(url)),
    gridSet === undefined ? null : leaf('gridSetId', String(gridSet)),
    leaf('pollInterval', Number(intervalSeconds)),
    leaf('operation', operation),
  ]);
}
