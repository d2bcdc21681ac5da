import './base.css';
import { loadPage, pageOf } from './pages.ts';
import { applyTheme } from './theme.ts';

const landing = document.getElementById('landing');
const consoleRoot = document.getElementById('console');
const started = new Set<HTMLElement>();

/** Addresses whose part after the `#` begins with a slash are the console's; all others are the public map's. */
async function show(): Promise<void> {
  const inConsole = location.hash.startsWith('#/');
  if (landing) landing.hidden = inConsole;
  if (consoleRoot) consoleRoot.hidden = !inConsole;
  const root = inConsole ? consoleRoot : landing;
  if (!root || started.has(root)) return;
  started.add(root);
  try {
    if (!inConsole) return (await import('./landing.tsx')).startLanding(root);
    // Everything at once: who is asking, the console, and the page that is wanted.
    const session = fetch('session.json', { cache: 'no-store' }).then((answer) => answer.json());
    const page = loadPage(pageOf(location.hash));
    for (const early of [session, page]) early.catch(() => undefined);
    await (await import('./console.tsx')).startConsole(root, session, page);
  } catch (error) {
    const what = inConsole ? 'console' : 'map';
    root.textContent = `The ${what} could not be loaded. ${error} Reload the page to try again.`;
  }
}

applyTheme();
addEventListener('hashchange', () => void show());
void show();
