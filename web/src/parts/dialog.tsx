import { type FocusEvent, type FormEvent, type ReactNode, useEffect, useRef } from 'react';
import { TEXTS } from '../texts.ts';

let lastFocused: HTMLElement | null = null;

/** A button that is disabled while it works has lost the focus by the time that its question is there. */
export function rememberFocus({ target }: FocusEvent): void {
  if (target instanceof HTMLElement && !target.closest('dialog')) lastFocused = target;
}

/** A question over the page. When it is gone the focus is back where it was. */
export function Dialog(props: {
  readonly title: string;
  readonly action: string;
  readonly kind: 'danger' | 'primary';
  readonly ready: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = lastFocused;
    dialog.current?.showModal();
    // A key pressed in haste leaves everything as it is.
    if (dialog.current?.querySelector('.danger:enabled')) cancel.current?.focus();
    return () => {
      if (before?.isConnected) before.focus();
    };
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!props.ready) return;
    props.onConfirm();
    props.onClose();
  };
  // Escape closes it at once and tells so later: without `onCancel` a key pressed in between would be lost.
  return (
    <dialog ref={dialog} onCancel={props.onClose} onClose={props.onClose} aria-label={props.title}>
      <form className="stack" onSubmit={submit}>
        <h2>{props.title}</h2>
        {props.children}
        <div className="row">
          <button type="submit" className={props.kind} disabled={!props.ready}>
            {props.action}
          </button>
          <button ref={cancel} type="button" onClick={props.onClose}>
            {TEXTS.cancel}
          </button>
        </div>
      </form>
    </dialog>
  );
}
