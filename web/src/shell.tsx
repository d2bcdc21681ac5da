import { Component, lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { get, type Problem, problemFrom } from './api/client.ts';
import { useLive } from './api/task-feed.ts';
import { Login } from './login.tsx';
import { ProblemNotice } from './parts/basics.tsx';
import { useRoute } from './route.ts';
import { type Caller, CallerContext, type Session } from './session.tsx';
import { Sidebar } from './sidebar.tsx';
import { TEXTS } from './texts.ts';

/** Each page is loaded when it is first looked at. */
const LOADERS = {
  overview: () => import('./pages/overview.tsx'),
  layers: () => import('./pages/layers.tsx'),
  seed: () => import('./pages/seed.tsx'),
  tasks: () => import('./pages/tasks.tsx'),
  quota: () => import('./pages/quota.tsx'),
  inspect: () => import('./pages/inspect.tsx'),
  upstreams: () => import('./pages/upstreams.tsx'),
  accounts: () => import('./pages/accounts.tsx'),
  audit: () => import('./pages/audit.tsx'),
  api: () => import('./pages/api.tsx'),
  about: () => import('./pages/about.tsx'),
};

type PageName = keyof typeof LOADERS;

const PAGES = Object.fromEntries(
  Object.entries(LOADERS).map(([name, load]) => [name, lazy(load)]),
) as Readonly<Record<PageName, React.LazyExoticComponent<() => ReactNode>>>;

/** Milliseconds before a server that cannot be reached is asked again. */
const RETRY_MS = 3000;

export function Shell({ session }: { readonly session: Promise<Session> }) {
  const [caller, setCaller] = useState<Caller | null>(null);
  const [known, setKnown] = useState(false);
  const [ended, setEnded] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);

  const look = useCallback(async (asked: Promise<Session> | null) => {
    try {
      const { caller: found } = await (asked ?? get<Session>('session.json'));
      setCaller(found);
      if (found) setEnded(false);
      setKnown(true);
      setProblem(null);
    } catch (error) {
      setProblem(problemFrom(error));
      setTimeout(() => void look(null), RETRY_MS);
    }
  }, []);

  useEffect(() => {
    void look(session);
    const signedOut = () => {
      setCaller(null);
      setEnded(true);
    };
    addEventListener('tilewarden-signed-out', signedOut);
    return () => removeEventListener('tilewarden-signed-out', signedOut);
  }, [look, session]);

  if (!known) {
    return <div className="login">{problem ? <ProblemNotice problem={problem} /> : TEXTS.loading}</div>;
  }
  if (!caller) return <Login notice={ended ? TEXTS.errors.signedOut : null} onDone={() => void look(null)} />;
  return (
    <CallerContext value={caller}>
      <button type="button" className="skip" onClick={skip}>
        {TEXTS.skip}
      </button>
      <div className="shell">
        <Sidebar caller={caller} onSignedOut={() => setCaller(null)} />
        <CurrentPage />
      </div>
    </CallerContext>
  );
}

/** A link cannot do it: the part of the address after the `#` is taken by the page's name. */
function skip(): void {
  document.getElementById('content')?.focus();
}

/** Begins to load a page while it is not yet known who is asking. */
export function preloadPage(page: string): void {
  // What fails here fails again where it is shown.
  LOADERS[pageNamed(page)]().catch(() => undefined);
}

function pageNamed(page: string): PageName {
  return Object.hasOwn(LOADERS, page) ? (page as PageName) : 'overview';
}

function CurrentPage() {
  const live = useLive();
  const { page, item } = useRoute();
  const Page = PAGES[pageNamed(page)];
  useEffect(() => {
    const title = TEXTS.nav[page as keyof typeof TEXTS.nav] ?? TEXTS.nav.overview;
    document.title = [item, title, TEXTS.product].filter((text) => text !== '').join(' · ');
  }, [page, item]);
  return (
    <main className="page" id="content" tabIndex={-1}>
      {live === false && (
        <p className="notice warn" role="status">
          {TEXTS.errors.lost}
        </p>
      )}
      <Fence key={`${page}/${item}`}>
        <Suspense fallback={<p className="empty">{TEXTS.loading}</p>}>
          <Page />
        </Suspense>
      </Fence>
    </main>
  );
}

/** A fault in one page leaves the others as they are. */
class Fence extends Component<{ readonly children: ReactNode }, { readonly failed: string | null }> {
  override state = { failed: null as string | null };

  static getDerivedStateFromError(error: unknown) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    if (this.state.failed === null) return this.props.children;
    return (
      <p className="notice bad" role="alert">
        {TEXTS.errors.pageBroken} {this.state.failed}
      </p>
    );
  }
}
