import './console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { Session } from './session.tsx';
import { Shell } from './shell.tsx';

/**
 * Draws the console when `session` (the response to `session.json`) and the code of the first `page` have arrived. On a
 * slow processor, drawing a placeholder would take longer than loading both.
 */
export async function startConsole(
  root: HTMLElement,
  session: Promise<Session>,
  page: Promise<unknown>,
): Promise<void> {
  const first = await session.catch(() => null);
  // The page shows its own errors.
  if (first?.caller) await page.catch(() => undefined);
  createRoot(root).render(
    <StrictMode>
      <Shell first={first} />
    </StrictMode>,
  );
}
