import { resolve } from 'node:path';
import type { ChangeFeedSettings } from '../changes/change-options.ts';
import { type Adoption, placeOfAdoption } from '../sources/adopted/adopt-options.ts';
import type { PartSettings, SourceSettings } from '../sources/drivers.ts';
import type { OutboundProxies } from '../sources/upstream/outbound-proxy.ts';
import { resolveSettings } from './resolve-settings.ts';
import type { Settings, SettingsDocument } from './settings-schema.ts';

/** Checked settings as plain data, for a child process with the same settings. Secrets are in the clear. */
export interface SettingsHandover {
  readonly document: SettingsDocument;
  /** Where the document's relative paths begin. */
  readonly folder: string;
  /** Absolute path. */
  readonly data: string;
  /** From the environment of the server. */
  readonly proxies: OutboundProxies;
}

/** For a process that performs tasks: without schedules. */
export function settingsFrom(handover: SettingsHandover): Settings {
  const { settings } = resolveSettings(handover.document);
  return completeSettings({ ...settings, schedules: [] }, handover);
}

/** Makes relative paths absolute, and adds settings from outside the document. */
export function completeSettings(
  resolved: Omit<Settings, 'data' | 'access' | 'proxies'>,
  { document, folder, data, proxies }: SettingsHandover,
): Settings {
  const { tls, accessLog } = resolved.server;
  return {
    ...resolved,
    server: {
      ...resolved.server,
      tls: tls && { certificate: resolve(folder, tls.certificate), key: resolve(folder, tls.key) },
      accessLog: { ...accessLog, file: accessLog.file && resolve(folder, accessLog.file) },
    },
    layers: resolved.layers.map((layer) => ({
      ...layer,
      source: absoluteSource(layer.source, folder),
      adopt: layer.adopt.map((adopted) => absoluteAdoption(adopted, folder)),
    })),
    changes: resolved.changes.map((feed) => absoluteFeed(feed, folder)),
    adoptFolders: document.adoptFolders.map((allowed) => resolve(folder, allowed)),
    access: { ...document.access, adminPassword: null },
    data,
    proxies,
  };
}

function absoluteFeed(feed: ChangeFeedSettings, folder: string): ChangeFeedSettings {
  if (feed.type === 'tile-list') return { ...feed, folder: resolve(folder, feed.folder) };
  return feed.type === 'file' ? { ...feed, path: resolve(folder, feed.path) } : feed;
}

function absoluteSource(source: SourceSettings, folder: string): SourceSettings {
  if (source.type !== 'layers') return source.type === 'layer' ? source : absolutePart(source, folder);
  const of = source.of.map((part) =>
    part.source ? { ...part, source: absolutePart(part.source, folder) } : part,
  );
  return { ...source, of };
}

function absolutePart(source: PartSettings, folder: string): PartSettings {
  if (source.type !== 'archive' || source.path === undefined) return source;
  return { ...source, path: resolve(folder, source.path) };
}

function absoluteAdoption(adopted: Adoption, folder: string): Adoption {
  const place = placeOfAdoption(adopted);
  if (place === null) return adopted;
  const [key, path] = place;
  return { ...adopted, [key]: resolve(folder, path) };
}
