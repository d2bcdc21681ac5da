/** Forms of the console with input that is not saved. Leaving the page by a link, or the document, asks first. */
const edited = new Set<Element>();
/** Forms whose input can be lost: no searches, no dialogs. */
const FORM = '#content form:not([role=search], dialog form)';

export function forgetInput(): void {
  edited.clear(); // It was saved, or given up.
}

/** `ask` gets the target of a link that was not followed. Returns a function that ends the watch. */
export function watchInput(ask: (address: string) => void): () => void {
  const stop = new AbortController();
  const isUnsaved = () => [...edited].some((form) => form.isConnected);
  const watch = { capture: true, signal: stop.signal };
  const markEdited = ({ target }: Event) => {
    const form = target instanceof Element && target.closest(FORM);
    if (form) edited.add(form);
  };
  const follow = (event: MouseEvent) => {
    const link = event.target instanceof Element && event.target.closest<HTMLAnchorElement>('a[href^="#"]');
    const opensTab = event.ctrlKey || event.metaKey || event.shiftKey;
    // Links of a form are its own: to cancel it, or to continue elsewhere.
    if (!link || opensTab || link.hash === location.hash || link.closest(FORM) || !isUnsaved()) return;
    event.preventDefault();
    event.stopPropagation();
    ask(link.hash);
  };
  addEventListener('input', markEdited, watch);
  addEventListener('click', follow, watch);
  addEventListener('beforeunload', (event) => isUnsaved() && event.preventDefault(), watch);
  return () => stop.abort();
}
