import type { ComponentType } from 'react';
import type { Role } from './session.tsx';

/** Pages of the console, each loaded on first use. */
const LOADERS = {
  overview: () => import('./pages/overview.tsx'),
  layers: () => import('./pages/layers.tsx'),
  add: () => import('./pages/add.tsx'),
  gridsets: () => import('./pages/grid-sets.tsx'),
  areas: () => import('./pages/areas.tsx'),
  seed: () => import('./pages/seed.tsx'),
  tasks: () => import('./pages/tasks.tsx'),
  schedules: () => import('./pages/schedules.tsx'),
  quota: () => import('./pages/quota.tsx'),
  inspect: () => import('./pages/inspect.tsx'),
  upstreams: () => import('./pages/upstreams.tsx'),
  changes: () => import('./pages/changes.tsx'),
  accounts: () => import('./pages/accounts.tsx'),
  keys: () => import('./pages/keys.tsx'),
  audit: () => import('./pages/audit.tsx'),
  about: () => import('./pages/about.tsx'),
};

export type PageName = keyof typeof LOADERS;

interface PageModule {
  readonly default: ComponentType;
}

/** The least role for a page; other pages are for all roles. */
export const PAGE_ROLES: Partial<Record<PageName, Role>> = {
  add: 'admin',
  keys: 'admin',
  audit: 'admin',
  seed: 'operator',
};

const loaded = new Map<PageName, ComponentType>();

export const PAGE_NAMES = Object.keys(LOADERS) as readonly PageName[];

/** `#/tasks/7?…` → `tasks`; `overview` for an unknown page. */
export function pageOf(hash: string): PageName {
  const name = /^#\/([^/?]*)/.exec(hash)?.[1] ?? '';
  return PAGE_NAMES.find((page) => page === name) ?? 'overview';
}

export async function loadPage(name: PageName): Promise<PageModule> {
  const module = await LOADERS[name]();
  loaded.set(name, module.default);
  return module;
}

/** Null if the page is not loaded yet. */
export function loadedPage(name: PageName): ComponentType | null {
  return loaded.get(name) ?? null;
}
