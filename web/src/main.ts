import './base.css';
import { loadPage, pageOf } from './pages.ts';
import { TEXTS } from './texts.ts';
import { applyTheme } from './theme.ts';

const landing = document.getElementById('landing');
const consoleRoot = document.getElementById('console');
const started = new Set<HTMLElement>();

/** Shows the console at addresses with `#/`, otherwise the public map. */
async function show(): Promise<void> {
  const inConsole = location.hash.startsWith('#/');
  if (landing) landing.hidden = inConsole;
  if (consoleRoot) consoleRoot.hidden = !inConsole;
  const root = inConsole ? consoleRoot : landing;
  if (!root || started.has(root)) return;
  started.add(root);
  try {
    if (!inConsole) return (await import('./landing.tsx')).startLanding(root);
    // The session, the console and its page load in parallel.
    const session = fetch('session.json', { cache: 'no-store' }).then((response) => response.json());
    const page = loadPage(pageOf(location.hash));
    for (const early of [session, page]) early.catch(() => undefined);
    await (await import('./console.tsx')).startConsole(root, session, page);
  } catch (error) {
    root.textContent = `${TEXTS.errors.notLoaded} ${error}`;
  }
}

applyTheme();
addEventListener('hashchange', () => void show());
void show();
