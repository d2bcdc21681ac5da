import { createHash } from 'node:crypto';
import type { LayerDeclaration } from '../catalog/layer-declaration.ts';
import { originOfTimes } from '../catalog/time-lists.ts';
import type { Layer } from '../domain/layer.ts';
import { type ChangeFeedSettings, changeFeedOptions } from './change-options.ts';
import type { TimesFeedSettings } from './feeds/times-feed.ts';

const MAX_READABLE = 50;

/** Feeds of GeoWebCache's `updateSources`. Declarations for several formats are one feed. */
export function feedsOfLayer({
  name,
  updateSources,
}: Pick<Layer, 'name' | 'updateSources'>): readonly ChangeFeedSettings[] {
  const feeds = updateSources.map(({ srs, ...source }) => {
    const crs = `EPSG:${srs}`;
    const feed = {
      ...source,
      srs: crs,
      type: 'georss',
      name: feedName(name, [source.url, crs]),
      layers: [name],
    };
    return changeFeedOptions.parse(feed);
  });
  return [...new Map(feeds.map((feed) => [feed.name, feed])).values()];
}

/** Seconds. */
const TIMES_INTERVAL = 300;

/** Feeds of the layer's times. */
export function timesFeedsOf(
  layer: string,
  { parameters, source }: Pick<LayerDeclaration, 'parameters' | 'source'>,
): readonly TimesFeedSettings[] {
  return parameters.flatMap(({ name, from, every = TIMES_INTERVAL }) => {
    if (from === undefined) return [];
    const origin = originOfTimes(from, source);
    const parameter = name.toUpperCase();
    return {
      name: feedName(layer, [parameter, origin]),
      type: 'times',
      layers: [layer],
      action: 'list',
      parameter,
      origin,
      postgres: from === 'capabilities' ? null : from.postgres,
      every,
    };
  });
}

/** Unique, and constant while the layer has the feed: applied changes are recorded under it. */
function feedName(layer: string, parts: readonly string[]): string {
  const readable = layer.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  const digest = createHash('sha1')
    .update(JSON.stringify([layer, ...parts]))
    .digest('hex');
  return `${readable.slice(0, MAX_READABLE) || 'layer'}-${digest.slice(0, 8)}`;
}
