import { createCatalogEditor } from '../catalog/catalog-editor.ts';
import type { ServiceSettings } from '../catalog/catalog-entries.ts';
import type { Settings } from '../config/settings.ts';
import { lastId } from '../db/numbers.ts';
import type { Env } from '../lib/env.ts';
import type { ScheduleDeclaration } from '../tasks/schedules/schedule.ts';
import type { Membership } from './join-nodes.ts';
import type { Declarations } from './open-declarations.ts';
import type { NodeServices } from './open-node-services.ts';
import type { Work } from './open-work.ts';
import { CONFIG_FILE } from './share-changes.ts';

interface EditingParts extends Env {
  /** Whether no other process of this server was running before. */
  readonly isFirst: boolean;
  readonly services: NodeServices;
  readonly membership: Membership;
  readonly declarations: Declarations;
  readonly work: Pick<Work, 'tasks' | 'schedules' | 'quota'>;
}

/** Changes of declarations: over HTTP in all nodes, by the configuration file in this one. */
export async function openEditing(settings: Settings, parts: EditingParts) {
  const { services, membership, declarations, work, log } = parts;
  const { peers, registry } = membership;
  const { tasks, schedules, quota } = work;
  const file = createFileTaker(settings, parts);
  const editor = createCatalogEditor({
    ...declarations,
    catalog: services.catalog,
    parameters: services.parameters,
    log,
    async announce() {
      await declarations.announce();
      await peers?.waitForAllNodes();
    },
    changed: declarations.outdate,
    gridSetDocuments: file.gridSetDocuments,
    belongings: async (query) => ({
      task: await lastId(query, 'tasks'),
      schedule: await lastId(query, 'schedules'),
    }),
    async clear(layer, { task, schedule }, by) {
      await tasks.cancel({ layers: [layer], upTo: task }, by);
      const left = (await schedules.list(layer)).filter(({ id }) => id <= schedule);
      for (const { id } of left) await schedules.remove(id);
      if (services.catalog.layer(layer)) return;
      const { layerQuotas } = await quota.settings.read();
      const others = layerQuotas.filter((quota) => quota.layer !== layer);
      if (others.length < layerQuotas.length) await quota.settings.change({ layerQuotas: others });
    },
  });
  await editor.finish(parts.isFirst && (await registry.list()).length <= 1);
  return { editor, fileTaker: file.taker, service: shareService(parts) };
}

function shareService({ membership: { peers }, declarations: { service } }: EditingParts): ServiceSettings {
  return {
    ...service,
    get current() {
      return service.current;
    },
    async change(change, by) {
      await service.change(change, by);
      await peers?.waitForAllNodes();
    },
  };
}

/** A file belongs to one node: the others have theirs. */
function createFileTaker(settings: Settings, { services, membership, declarations, work }: EditingParts) {
  const { records, declared } = declarations;
  let { gridSetDocuments } = settings;
  let reloaded: readonly string[] = [];
  const taker = {
    async apply(next: Settings) {
      const other = await records.declareFixed(next.layers, next.gridSets);
      await declared.refresh();
      gridSetDocuments = next.gridSetDocuments;
      await declarations.service.setFile(next.service);
      services.limiter.setUpstreams(next.upstreams);
      const changed = services.applySettings(next);
      reloaded = [...new Set([...changed, ...other])];
      return changed;
    },
    async announce() {
      await membership.feed?.ask(CONFIG_FILE);
      await declarations.outdate(reloaded);
    },
    /** Called when another process has applied the file. */
    onFile: (reload: () => Promise<void>) => membership.feed?.on(CONFIG_FILE, reload),
    schedule: (declaredNow: readonly ScheduleDeclaration[]) => work.schedules.takeOver(declaredNow),
  };
  return { gridSetDocuments: () => gridSetDocuments, taker };
}
