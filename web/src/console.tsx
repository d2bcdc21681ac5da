import './console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Session } from './session.tsx';
import { Shell } from './shell.tsx';

/**
 * `session` is the answer to `session.json`, on its way, and `page` the first page. Nothing is drawn before both are there:
 * to draw the place that waits for them takes a slow processor longer than they do.
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
