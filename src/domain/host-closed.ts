import { isTilewardenError } from './errors.ts';
import type { HostClosing } from './upstream-status.ts';

/** The cause of a failure whose request was never sent: its host is left alone until a moment that is known. */
export class HostClosed extends Error {
  readonly host: string;
  readonly closing: HostClosing;

  constructor(host: string, closing: HostClosing) {
    super(`${host} is left alone until ${new Date(closing.until).toISOString()}: ${closing.reason}`);
    this.name = 'HostClosed';
    this.host = host;
    this.closing = closing;
  }
}

/** Null when the failure is of another kind. */
export function hostClosedIn(error: unknown): HostClosed | null {
  return isTilewardenError(error) && error.cause instanceof HostClosed ? error.cause : null;
}
