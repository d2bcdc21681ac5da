import './console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { routeOf } from './route.ts';
import { preloadPage, Shell } from './shell.tsx';

export function startConsole(root: HTMLElement): void {
  preloadPage(routeOf(location.hash).page);
  createRoot(root).render(
    <StrictMode>
      <Shell />
    </StrictMode>,
  );
}
