import './console.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Shell } from './shell.tsx';

export function startConsole(root: HTMLElement): void {
  createRoot(root).render(
    <StrictMode>
      <Shell />
    </StrictMode>,
  );
}
