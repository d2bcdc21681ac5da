import { createHash } from 'node:crypto';
import type { Layer } from '../domain/layer.ts';
import { type ChangeFeedSettings, changeFeedOptions } from './change-options.ts';

const MAX_READABLE = 50;

/** Those of GeoWebCache's `updateSources`. One that is declared twice, for several formats, is one feed. */
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
      name: feedName(name, source.url, crs),
      layers: [name],
    };
    return changeFeedOptions.parse(feed);
  });
  return [...new Map(feeds.map((feed) => [feed.name, feed])).values()];
}

/** Unique, and constant while the layer has the feed: applied changes are recorded under it. */
function feedName(layer: string, url: string, crs: string): string {
  const readable = layer.replaceAll(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '');
  const digest = createHash('sha1')
    .update(JSON.stringify([layer, url, crs]))
    .digest('hex');
  return `${readable.slice(0, MAX_READABLE) || 'layer'}-${digest.slice(0, 8)}`;
}
