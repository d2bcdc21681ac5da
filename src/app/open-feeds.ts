import type { AuditLog } from '../access/audit-log.ts';
import type { AuditChange } from '../changes/feed-intake.ts';
import { openFollow } from '../changes/follow/open-follow.ts';
import { openChanges } from '../changes/open-changes.ts';
import type { Node } from './open-node.ts';
import { createMapServerReader } from './read-map-server.ts';

/** An entry of the audit log for what the server did by itself. */
function doneBy(name: string, action: 'change' | 'follow') {
  return { phase: 'ended', action, outcome: 'done', actor: name, account: name } as const;
}

/** Inputs of a node from outside: change feeds, and map servers that layers follow. The leading node reads both. */
export async function openFeeds(node: Node, audit: Pick<AuditLog, 'record' | 'recordWith'>) {
  const { settings, declared, upstreams, open } = node;
  const auditChange: AuditChange = ({ feed, ...entry }) => {
    const name = `feed:${feed}`;
    return audit.record({ ...doneBy(name, 'change'), target: name, ...entry });
  };
  const changes = open.use(
    await openChanges({
      ...node,
      feeds: settings.changes,
      withFeeds: () => declared.withFeeds(),
      // A feed of times has exactly one layer.
      keepTimes: ({ layers: [layer], parameter, origin }, values) =>
        node.times.setList(layer, parameter, origin, values),
      apply: node.applyChanges,
      audit: auditChange,
      fetchDocument: async (url, validator, signal) => {
        const response = await upstreams.get({ url, validator, signal, priority: 'task' });
        return response.status === 304 ? null : response;
      },
    }),
  );
  return { changes, follow: await openFollowing(node, audit, auditChange) };
}

/** Layers that follow map servers. `auditMark` records the tiles that a follow marks as outdated. */
async function openFollowing(node: Node, audit: Pick<AuditLog, 'recordWith'>, auditMark: AuditChange) {
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
        const entry = { id, administrative: true, target: `layer:${layer}`, ...change };
        return audit.recordWith(query, { ...doneBy(`follow:${follow}`, 'follow'), ...entry });
      },
      auditMark,
    }),
  );
}
