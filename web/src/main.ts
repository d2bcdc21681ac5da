import './base.css';
import { loadPage, pageOf } from './pages.ts';
import { applyTheme } from './theme.ts';

const landing = document.getElementById('landing');
const consoleRoot = document.getElementById('console');
let started: { readonly landing: boolean; readonly console: boolean } = { landing: false, console: false };

/** Addresses whose part after the `#` begins with a slash are the console's; all others are the public map's. */
async function show(): Promise<void> {
  const inConsole = location.hash.startsWith('#/');
  if (landing) landing.hidden = inConsole;
  if (consoleRoot) consoleRoot.hidden = !inConsole;
  if (inConsole && !started.console && consoleRoot) {
    started = { ...started, console: true };
    // Everything at once: who is asking, the console, and the page that is wanted.
    const session = fetch('session.json', { cache: 'no-store' }).then((answer) => answer.json());
    const page = loadPage(pageOf(location.hash));
    for (const early of [session, page]) early.catch(() => undefined);
    try {
      await (await import('./console.tsx')).startConsole(consoleRoot, session, page);
    } catch (error) {
      consoleRoot.textContent = `The console could not be loaded. ${error} Reload the page to try again.`;
    }
  }
  if (!inConsole && !started.landing) {
    started = { ...started, landing: true };
    (await import('./landing/landing.ts')).startLanding();
  }
}

applyTheme();
addEventListener('hashchange', () => void show());
void show();
