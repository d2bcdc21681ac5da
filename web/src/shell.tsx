import { Component, lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { get, type Problem, problemFrom, SESSION_BEGUN, SESSION_ENDED } from './api/client.ts';
import { useFeedState } from './api/task-feed.ts';
import { fill } from './format.ts';
import { Login } from './login.tsx';
import { loadedPage, loadPage, PAGE_NAMES, PAGE_ROLES, type PageName, pageOf } from './pages.ts';
import { Button, Empty, ProblemNotice } from './parts/basics.tsx';
import { Dialog, rememberFocus } from './parts/dialog.tsx';
import { addressOf, goTo, useRoute } from './route.ts';
import { CallerContext, may, openSignOutChannel, type Session, useCaller } from './session.tsx';
import { Sidebar } from './sidebar.tsx';
import { TEXTS } from './texts.ts';
import { forgetInput, watchInput } from './unsaved.ts';

const PAGES = Object.fromEntries(PAGE_NAMES.map((name) => [name, lazy(() => loadPage(name))])) as Readonly<
  Record<PageName, React.LazyExoticComponent<React.ComponentType>>
>;

const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Milliseconds between attempts while the server cannot be reached. */
const RETRY_MS = 3000;

/** `first` is the session at the start; null if it could not be loaded. */
export function Shell({ first }: { first: Session | null }) {
  const [session, setSession] = useState(first);
  /** Why the user has to sign in again; null if not. Until then the page is only hidden. */
  const [ended, setEnded] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const otherTabs = useRef<ReturnType<typeof openSignOutChannel>>(null);

  const loadSession = useCallback(async () => {
    try {
      const loaded = await get<Session>('session.json');
      setSession(loaded);
      setEnded(null);
      setProblem(null);
      if (loaded.caller) dispatchEvent(new Event(SESSION_BEGUN));
    } catch (error) {
      setProblem(problemFrom(error));
      setTimeout(() => void loadSession(), RETRY_MS);
    }
  }, []);

  useEffect(() => {
    if (first === null) void loadSession();
    const expired = () => setEnded((before) => before ?? TEXTS.errors.signedOut);
    addEventListener(SESSION_ENDED, expired);
    const tabs = openSignOutChannel(() => setEnded(TEXTS.errors.signedOutElsewhere));
    otherTabs.current = tabs;
    return () => {
      removeEventListener(SESSION_ENDED, expired);
      tabs.close();
    };
  }, [loadSession, first]);

  if (!session) {
    return <div className="login">{problem ? <ProblemNotice problem={problem} /> : TEXTS.loading}</div>;
  }
  const { caller, oidc } = session;
  const signedOut = () => {
    setSession({ caller: null, oidc });
    setEnded(TEXTS.errors.signedOutHere);
    otherTabs.current?.report();
  };
  return (
    <>
      {(!caller || ended !== null) && <Login notice={ended} oidc={oidc} onDone={() => void loadSession()} />}
      {caller && (
        // After signing in again, the same user finds the page unchanged; another user gets a new one.
        <div key={caller.name} hidden={ended !== null}>
          <CallerContext value={caller}>
            <Button kind="skip" onClick={skip}>
              {TEXTS.skip}
            </Button>
            <div className="shell" onFocusCapture={rememberFocus}>
              <Sidebar caller={caller} onSignedOut={signedOut} />
              <CurrentPage />
              <Leaving />
            </div>
          </CallerContext>
        </div>
      )}
    </>
  );
}

/** The question before a link takes the user away from unsaved input. */
function Leaving() {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => watchInput(setAddress), []);
  if (address === null) return null;
  const leave = () => {
    forgetInput();
    goTo(address);
  };
  return (
    <Dialog
      title={TEXTS.unsaved.title}
      verb={TEXTS.unsaved.leave}
      onConfirm={leave}
      onClose={() => setAddress(null)}
    >
      <p>{TEXTS.unsaved.text}</p>
    </Dialog>
  );
}

/** Skips the navigation. Not a link, because the part of the address after the `#` names the page. */
function skip(): void {
  document.getElementById('content')?.focus();
}

function CurrentPage() {
  const caller = useCaller();
  const feed = useFeedState();
  const { page, item } = useRoute();
  const name = pageOf(addressOf(page));
  const shown = useRef('');
  // A loaded page is drawn immediately, without a placeholder.
  const role = PAGE_ROLES[name];
  const Page = useMemo(() => loadedPage(name) ?? PAGES[name], [name]);
  useEffect(() => {
    document.title = [item, TEXTS.nav[name], TEXTS.product].filter((text) => text !== '').join(' · ');
    const before = shown.current;
    shown.current = `${name}/${item}`;
    if (before === '' || before === shown.current) return;
    // A field that is still there keeps the focus, such as the one in which another layer was chosen.
    if (document.getElementById('content')?.contains(document.activeElement?.closest('input') ?? null))
      return;
    // As after loading a page: scrolls to the top, and the next Tab enters the content.
    scrollTo(0, 0);
    document.getElementById('content')?.focus({ preventScroll: true });
  }, [name, item]);
  return (
    <main className="page" id="content" tabIndex={-1}>
      {feed === 'lost' && (
        <p className="notice warn" role="status">
          {TEXTS.errors.lost}
        </p>
      )}
      <Fence place={`${page}/${item}`}>
        {role && !may(caller, role) ? (
          <Empty>{fill(TEXTS.needRole, { what: TEXTS.nav[name], role: TEXTS.roles[role] })}</Empty>
        ) : (
          <Suspense fallback={<Empty>{TEXTS.loading}</Empty>}>
            <Page />
          </Suspense>
        )}
      </Fence>
      <footer className="small quiet">
        {name === 'schedules' ? TEXTS.schedules.zones : fill(TEXTS.timeZone, { zone: TIME_ZONE })}
      </footer>
    </main>
  );
}

interface FenceProps {
  readonly place: string;
  readonly children: React.ReactNode;
}

/** Confines an exception to the page that throws it. */
class Fence extends Component<FenceProps, { readonly place: string; readonly failed: string | null }> {
  override state = { place: this.props.place, failed: null as string | null };

  static getDerivedStateFromError(error: unknown) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }

  static getDerivedStateFromProps({ place }: FenceProps, before: { readonly place: string }) {
    return place === before.place ? null : { place, failed: null };
  }

  override render(): React.ReactNode {
    if (this.state.failed === null) return this.props.children;
    return (
      <p className="notice bad" role="alert">
        {TEXTS.errors.pageBroken} {this.state.failed}
      </p>
    );
  }
}
