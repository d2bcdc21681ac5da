import type { AuditLog } from '../access/audit-log.ts';
import { feedsOfLayer, timesFeedsOf } from '../changes/layer-feeds.ts';
import { openChanges } from '../changes/open-changes.ts';
import type { Settings } from '../config/settings.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import type { openNode } from './open-node.ts';

type Node = Awaited<ReturnType<typeof openNode>>;

/** The feeds of data changes of a node: it accepts webhooks, and while it leads it reads the others. */
export async function openFeeds(
  { services, lead, applyChanges, notifier, times }: Node,
  { changes }: Pick<Settings, 'changes'>,
  audit: Pick<AuditLog, 'record'>,
  { clock, log }: Env,
  open: ClosingStack,
) {
  const { database, catalog, documents, outside } = services;
  return open.use(
    await openChanges({
      feeds: changes,
      layerFeeds: () =>
        [...documents.declared.withFeeds()].flatMap((name) => {
          const bound = catalog.layer(name);
          const declared = catalog.declaration(name);
          return bound && declared ? [...feedsOfLayer(bound.layer), ...timesFeedsOf(name, declared)] : [];
        }),
      times: {
        async dimensionValues(layer, dimension, signal) {
          const read = catalog.layer(layer)?.source().dimensionValues;
          if (!read) throw new Error(`The source of layer ${layer} lists no dimensions.`);
          return read(dimension, signal);
        },
        keep: ({ layers: [layer], parameter, origin }, values) =>
          times.setList(layer, parameter, origin, values),
      },
      layersVersion: () => catalog.version,
      database,
      isDeclared: (layer) => catalog.layer(layer) !== null,
      apply: applyChanges,
      audit: ({ feed, ...entry }) =>
        audit.record({
          phase: 'ended',
          action: 'change',
          actor: `feed:${feed}`,
          account: `feed:${feed}`,
          target: `feed:${feed}`,
          outcome: 'done',
          ...entry,
        }),
      stateChanged: (feed, state, message) => notifier.changeFeed(feed, state === 'ok' ? null : message),
      layersMissing: (feed, message) => notifier.changeFeed(feed, message, 'layers'),
      fetchDocument: async (url, validator, signal) => {
        const request = { url, validator, signal, priority: 'task' } as const;
        const response = await outside.upstreams.get(request).catch(renameSource);
        return response.status === 304 ? null : response;
      },
      lead,
      clock,
      log,
    }),
  );
}

/** The client for upstreams calls every server a map source. */
function renameSource(error: unknown): never {
  if (!(error instanceof Error)) throw error;
  const why = error.cause instanceof Error ? hideCredentials(error.cause.message) : '';
  const message = error.message.replace(/^The map source\b/, 'The server of the feed');
  throw new Error(why === '' ? message : `${message} (${why})`, { cause: error });
}
