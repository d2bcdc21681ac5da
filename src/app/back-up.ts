import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import type { Settings } from '../config/settings.ts';
import { copySqlite } from '../db/sqlite/copy-sqlite.ts';
import { misconfigured } from '../domain/errors.ts';
import { driverOf } from '../storage/drivers.ts';
import type { BackupResult } from '../storage/store-driver.ts';
import { storeFolder } from './open-stores.ts';
import { databaseOf } from './open-tile-services.ts';

/** It holds password hashes. */
const FOLDER_MODE = 0o700;

/**
 * Copies the database and the local stores of a data folder into a new one, while a server runs or not. The database comes
 * first: a removal that it records as done is then in the stores, too. There is no `target` before all of it is on the disk.
 */
export async function backUp(settings: Settings, target: string, signal: AbortSignal): Promise<BackupResult> {
  const { data, database, stores } = settings;
  if (existsSync(target)) throw misconfigured(`${target} exists; name a folder that does not.`);
  const location = databaseOf(settings);
  if (database === null && !existsSync(location))
    throw misconfigured(`${data} is not the data folder of a server; give it with --data.`);
  const making = `${target}.part`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true, mode: FOLDER_MODE });
  try {
    if (database === null) copySqlite(location, databaseOf({ ...settings, data: making }));
    const sums = { files: 0, bytes: 0 };
    for (const [name, store] of Object.entries(stores)) {
      const tools = {
        root: storeFolder({ data }, name),
        target: storeFolder({ data: making }, name),
        signal,
      };
      const result = existsSync(tools.root) ? await driverOf(store).backUp?.(tools) : null;
      sums.files += result?.files ?? 0;
      sums.bytes += result?.bytes ?? 0;
    }
    renameSync(making, target);
    return sums;
  } catch (error) {
    rmSync(making, { recursive: true, force: true });
    throw error;
  }
}
