import { useEffect, useRef, useState } from 'react';
import { SESSION_PATH, send } from './api/client.ts';
import { useTaskChanges } from './api/task-feed.ts';
import { loadPage, PAGE_ROLES } from './pages.ts';
import { Button, Choice, LanguageChoice } from './parts/basics.tsx';
import { Icon, Logo } from './parts/icons.tsx';
import { addressOf, useRoute } from './route.ts';
import { type Caller, may } from './session.tsx';
import { TEXTS } from './texts.ts';
import { chooseTheme, currentTheme } from './theme.ts';

type Entry = keyof typeof TEXTS.nav;

const SIGNED_IN: readonly Caller['via'][] = ['session', 'oidc'];
/** Whether a caller without the role admin has a use for the page of accounts: to change the own password. */
const hasPassword = ({ via }: Caller) => via === 'session';
const ENTRIES = (Object.keys(TEXTS.nav) as Entry[]).filter((entry) => entry !== 'add');

export function Sidebar({ caller, onSignedOut }: { caller: Caller; onSignedOut: () => void }) {
  const { page } = useRoute();
  const [open, setOpen] = useState(false);
  const menu = useRef<HTMLButtonElement>(null);
  const entries = ENTRIES.filter((entry) =>
    entry === 'accounts'
      ? may(caller, 'admin') || hasPassword(caller)
      : may(caller, PAGE_ROLES[entry] ?? 'viewer'),
  );
  useEffect(() => {
    if (!open) return;
    const stop = new AbortController();
    const close = ({ key }: KeyboardEvent) => {
      if (key !== 'Escape') return;
      setOpen(false);
      menu.current?.focus();
    };
    addEventListener('keydown', close, { signal: stop.signal });
    return () => stop.abort();
  }, [open]);
  return (
    <aside className={`sidebar ${open ? 'open' : ''}`}>
      <a className="brand" href={addressOf('overview')}>
        <Logo />
        {TEXTS.product}
      </a>
      <Button ref={menu} kind="menu-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {TEXTS.menu}
      </Button>
      <nav aria-label={TEXTS.menu}>
        <ul className="nav">
          {entries.map((entry) => (
            <li key={entry}>
              <a
                href={addressOf(entry)}
                aria-current={entry === (page === 'add' ? 'layers' : page) ? 'page' : undefined}
                onClick={() => setOpen(false)}
                onPointerEnter={() => preload(entry)}
                onFocus={() => preload(entry)}
              >
                <Icon name={entry} />
                {TEXTS.nav[entry]}
                {entry === 'tasks' && <RunningCount />}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <Who caller={caller} onSignedOut={onSignedOut} />
    </aside>
  );
}

/** Loads a page in advance. Errors are shown when it is opened. */
function preload(entry: Entry): void {
  loadPage(entry).catch(() => undefined);
}

/** Count of running tasks. It also keeps the stream of tasks open on every page. */
function RunningCount() {
  const running = [...useTaskChanges().values()].filter(({ state }) => state === 'running').length;
  return running === 0 ? null : <span className="count">{running}</span>;
}

function Who({ caller, onSignedOut }: { caller: Caller; onSignedOut: () => void }) {
  const [theme, setTheme] = useState(currentTheme());
  const signOut = () =>
    send<{ logoutUrl: string | null } | null>('DELETE', SESSION_PATH).then((ended) => {
      onSignedOut();
      if (ended?.logoutUrl) location.assign(ended.logoutUrl);
    }, onSignedOut);
  return (
    <div className="who stack tight">
      <span>
        <strong>{caller.name}</strong> <span className="quiet">· {TEXTS.roles[caller.role]}</span>
      </span>
      <Choice
        label={TEXTS.theme}
        value={theme}
        options={TEXTS.themes}
        onChange={(value) => {
          chooseTheme(value);
          setTheme(value);
        }}
      />
      <LanguageChoice />
      <div className="row small">
        <a href="#map">{TEXTS.backToMap}</a>
        <a href="docs/" target="_blank" rel="noopener">
          {TEXTS.documentation}
        </a>
        <a href="docs/http-interface.html" target="_blank" rel="noopener">
          {TEXTS.httpInterface}
        </a>
        {SIGNED_IN.includes(caller.via) && (
          <Button kind="link" onClick={signOut}>
            {TEXTS.signOut}
          </Button>
        )}
      </div>
    </div>
  );
}
