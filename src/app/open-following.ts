import type { AuditLog } from '../access/audit-log.ts';
import type { AuditChange } from '../changes/feed-intake.ts';
import { openFollow } from '../changes/follow/open-follow.ts';
import type { Node } from './open-node.ts';
import { createMapServerReader } from './read-map-server.ts';

/** Layers that follow map servers: while this node leads, it looks at them. */
export async function openFollowing(node: Node, audit: Pick<AuditLog, 'recordWith'>, auditMark: AuditChange) {
  const { settings, catalog, upstreams, privateAdvice, open } = node;
  return open.use(
    await openFollow({
      ...node,
      follow: settings.follow,
      isDeclared: (layer) => catalog.declaration(layer) !== null,
      isGridSet: (name) => catalog.gridSets.find(name) !== null,
      read: createMapServerReader({ upstreams, privateAdvice, gridSets: () => catalog.gridSets.gridSets }),
      apply: node.applyChanges,
      auditLayer(query, { id, follow, layer, ...change }) {
        const name = `follow:${follow}`;
        const ended = {
          id,
          phase: 'ended',
          action: 'follow',
          outcome: 'done',
          administrative: true,
        } as const;
        const entry = { ...ended, actor: name, account: name, target: `layer:${layer}`, ...change };
        return audit.recordWith(query, entry);
      },
      auditMark,
    }),
  );
}
