import type { AuditLog } from '../access/audit-log.ts';
import type { AuditChange } from '../changes/feed-intake.ts';
import { openFollow } from '../changes/follow/open-follow.ts';
import type { Settings } from '../config/settings.ts';
import type { ClosingStack } from '../lib/closing-stack.ts';
import type { Env } from '../lib/env.ts';
import type { openNode } from './open-node.ts';
import { createMapServerReader } from './read-map-server.ts';

type Node = Awaited<ReturnType<typeof openNode>>;

/** Layers that follow map servers: while this node leads, it looks at them. */
export async function openFollowing(
  { services, lead, applyChanges, notifier, parts }: Node,
  { follow }: Pick<Settings, 'follow'>,
  audit: Pick<AuditLog, 'record' | 'recordWith'>,
  { clock, log }: Env,
  open: ClosingStack,
) {
  const { database, catalog, outside } = services;
  return open.use(
    await openFollow({
      follow,
      database,
      editor: parts.editor,
      isDeclared: (layer) => catalog.declaration(layer) !== null,
      isGridSet: (name) => catalog.gridSets.find(name) !== null,
      read: createMapServerReader({ ...outside, gridSets: () => catalog.gridSets.gridSets }),
      apply: applyChanges,
      auditLayer: (query, { id, follow: name, layer, ...change }) =>
        audit.recordWith(query, {
          id,
          phase: 'ended',
          action: 'follow',
          actor: `follow:${name}`,
          account: `follow:${name}`,
          target: `layer:${layer}`,
          outcome: 'done',
          administrative: true,
          ...change,
        }),
      auditMark: auditFeed(audit),
      stateChanged: (name, state, message) => notifier.changeFeed(name, state === 'ok' ? null : message),
      lead,
      clock,
      log,
    }),
  );
}

export function auditFeed(audit: Pick<AuditLog, 'record'>): AuditChange {
  return ({ feed, ...entry }) =>
    audit.record({
      phase: 'ended',
      action: 'change',
      actor: `feed:${feed}`,
      account: `feed:${feed}`,
      target: `feed:${feed}`,
      outcome: 'done',
      ...entry,
    });
}
