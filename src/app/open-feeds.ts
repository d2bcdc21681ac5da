import type { AuditLog } from '../access/audit-log.ts';
import { feedsOfLayer } from '../changes/layer-feeds.ts';
import { openChanges } from '../changes/open-changes.ts';
import type { Settings } from '../config/settings.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import { hideCredentials } from '../lib/hide-secrets.ts';
import { auditFeed, openFollowing } from './open-following.ts';
import type { openNode } from './open-node.ts';

type Node = Awaited<ReturnType<typeof openNode>>;

/** What a node hears from outside: data changes, and map servers that layers follow. */
export async function openFeeds(
  node: Node,
  settings: Pick<Settings, 'changes' | 'follow'>,
  audit: Pick<AuditLog, 'record' | 'recordWith'>,
  env: Env,
  open: ClosingStack,
) {
  return {
    changes: await openChangeFeeds(node, settings, audit, env, open),
    follow: await openFollowing(node, settings, audit, env, open),
  };
}

/** It accepts webhooks, and while it leads it reads the others. */
async function openChangeFeeds(
  { services, lead, applyChanges, notifier }: Node,
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
        [...documents.declared.withUpdateSources()].flatMap((name) => {
          const bound = catalog.layer(name);
          return bound ? feedsOfLayer(bound.layer) : [];
        }),
      layersVersion: () => catalog.version,
      database,
      isDeclared: (layer) => catalog.layer(layer) !== null,
      apply: applyChanges,
      audit: auditFeed(audit),
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
