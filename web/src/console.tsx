import './console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Session } from './session.tsx';
import { Shell } from './shell.tsx';

/**
 * `session` is the pending response to `session.json`, and `page` the first page. Nothing is drawn before both have arrived:
 * on a slow processor a placeholder would take longer to draw than they take to load.
 */
export async function startConsole(
  root: HTMLElement,
  session: Promise<Session>,
  page: Promise<unknown>,
): Promise<void> {
  const first = await session.catch(() => null);
  // Errors are shown with the page.
  if (first?.caller) await page.catch(() => undefined);
  createRoot(root).render(
    <StrictMode>
      <Shell first={first} />
    </StrictMode>,
  );
}
