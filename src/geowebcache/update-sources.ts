import { shortened } from '../domain/errors.ts';
import { omitUndefined } from '../lib/omit-undefined.ts';
import { isRecord } from '../lib/value-path.ts';
import { type DocumentNode, leaf, nodeOf } from './document-node.ts';
import type { Aside } from './kept-elements.ts';
import {
  bodyProblem,
  childrenNamed,
  entriesOf,
  integerField,
  textField,
  type WireElement,
} from './wire-element.ts';

const FEED = 'geoRssFeed';
/** GeoWebCache's operations, the default first. */
const ACTIONS = new Map([
  ['truncate', 'truncate'],
  ['reseed', 'renew'],
  ['seed', 'renew'],
]);
const READ = ['feedUrl', 'gridSetId', 'pollInterval', 'operation'];
/** Seconds. */
const MAX_INTERVAL = 86_400;

const WITHOUT_EFFECT: Readonly<Record<string, string>> = {
  maxMaskLevel: 'is kept without effect: the tiles concerned are exact at every zoom',
  seedingThreads: 'is kept without effect: renewals are tasks like others',
  format: 'is kept without effect: a change concerns tiles of all formats',
  httpUsername: 'is kept without effect: the feed is read without a login',
};
const NOT_POLLED = 'is kept without effect: it has no pollInterval above 0, and is not polled';

/** The GeoRSS feeds of a layer. Throws `request-invalid`. */
export function readUpdateSources(root: WireElement, aside: Aside): readonly object[] | undefined {
  const lists = childrenNamed(root, 'updateSources').map(({ children }) => children);
  for (const children of lists.filter((all) => all.some(({ name }) => name === FEED))) {
    const strays = children.filter(({ name }) => name !== FEED && !name.startsWith('@'));
    for (const stray of strays) aside.keep(['updateSources'], stray, 'is not known here');
  }
  const feeds = entriesOf(root, 'updateSources', [FEED]) ?? [];
  const read = feeds.flatMap((feed) => readFeed(feed, aside));
  return read.length === 0 ? undefined : read;
}

function readFeed(feed: WireElement, aside: Aside): readonly object[] {
  const url = textField(feed, 'feedUrl');
  if (url === undefined) throw bodyProblem(`A ${FEED} must have a feedUrl`, feed.place);
  const interval = integerField(feed, 'pollInterval') ?? 0;
  const action = readAction(feed);
  const gridSet = textField(feed, 'gridSetId') || undefined;
  const hasPassword = textField(feed, 'httpPassword') !== undefined;
  if (hasPassword)
    aside.warn(['updateSources', FEED, 'httpPassword'], 'is not kept: it would be shown again');
  const children = feed.children.filter(({ name }) => name !== 'httpPassword');
  if (interval <= 0) {
    aside.keep(['updateSources'], { ...feed, children, name: FEED }, NOT_POLLED);
    return [];
  }
  const path = ['updateSources', `${FEED}#${url}`];
  if (interval > MAX_INTERVAL) aside.warn([...path, 'pollInterval'], `is read as ${MAX_INTERVAL}, a day`);
  for (const child of children.filter(({ name }) => !READ.includes(name) && !name.startsWith('@'))) {
    aside.keep(path, child, WITHOUT_EFFECT[child.name] ?? 'is not known here');
  }
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
