import './console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { routeOf } from './route.ts';
import type { Session } from './session.tsx';
import { preloadPage, Shell } from './shell.tsx';

/** `session` is the answer to `session.json`, on its way. */
export function startConsole(root: HTMLElement, session: Promise<Session>): void {
  preloadPage(routeOf(location.hash).page);
  createRoot(root).render(
    <StrictMode>
      <Shell session={session} />
    </StrictMode>,
  );
}
