import { PRIVATE_FILES } from './private-files.ts';

/** For processes that work for others, before they load anything. See docs/decisions/0068. */
export function hardenProcess(): void {
  process.umask(PRIVATE_FILES);
  // As --disable-proto=delete does: what a caller names `__proto__` then leads nowhere.
  Reflect.deleteProperty(Object.prototype, '__proto__');
}
