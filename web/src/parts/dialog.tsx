import { type FocusEvent, type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import type { Action } from '../api/use-resource.ts';
import { fill } from '../format.ts';
import { TEXTS } from '../texts.ts';
import { Button, Copy, Input } from './basics.tsx';

let lastFocused: HTMLElement | null = null;

/** Notes the focused element: a button that is disabled while it works has lost the focus when its dialog opens. */
export function rememberFocus({ target }: FocusEvent): void {
  if (target instanceof HTMLElement && !target.closest('dialog')) lastFocused = target;
}

interface Question {
  readonly title: string;
  /** Text of its button. */
  readonly verb: string;
  /** A name that the user must type to confirm. */
  readonly name?: string | undefined;
  /** The shell command for the same request. */
  readonly command?: string;
  readonly onConfirm: () => unknown;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A question over the page, by default about an action that cannot be undone. Closing it restores the focus. */
export function Dialog(props: Question & { kind?: 'danger' | 'primary'; ready?: boolean }) {
  const { name, command, kind = 'danger' } = props;
  const [typed, setTyped] = useState('');
  const ready = props.ready !== false && (name === undefined || typed === name);
  const dialog = useRef<HTMLDialogElement>(null);
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const before = lastFocused;
    dialog.current?.showModal();
    // A hasty Enter must not confirm.
    if (dialog.current?.querySelector('.danger:enabled')) cancel.current?.focus();
    return () => {
      if (before?.isConnected) before.focus();
    };
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!ready) return;
    props.onConfirm();
    props.onClose();
  };
  // Escape closes the dialog, but `onClose` is called later: without `onCancel`, a key pressed in between would be lost.
  return (
    <dialog ref={dialog} onCancel={props.onClose} onClose={props.onClose} aria-label={props.title}>
      <form className="stack" onSubmit={submit}>
        <h2>{props.title}</h2>
        {props.children}
        {command !== undefined && <Copy folded text={command} label={TEXTS.tasks.curl} />}
        {name !== undefined && (
          <Input
            label={fill(TEXTS.layer.typeName, { name })}
            value={typed}
            autoComplete="off"
            onText={setTyped}
          />
        )}
        <div className="row">
          <Button type="submit" kind={kind} disabled={!ready}>
            {props.verb}
          </Button>
          <Button ref={cancel} onClick={props.onClose}>
            {TEXTS.cancel}
          </Button>
        </div>
      </form>
    </dialog>
  );
}

export function paragraphs(texts: readonly (string | null)[]): ReactNode {
  return texts.map((text) => text !== null && <p key={text}>{text}</p>);
}

/** Returns a lost focus to an element, or to the page. */
function keepFocus(element: HTMLElement | null): void {
  if (document.activeElement !== document.body) return;
  (element ?? document.getElementById('content'))?.focus({ preventScroll: true });
}

/** A button that asks before its action; `text` may be loaded first. */
export function ConfirmButton(
  props: Omit<Question, 'children' | 'onClose'> & {
    action: Action;
    label?: string | undefined;
    disabled?: boolean;
    /** Style of the button. The dialog always has that of danger. */
    kind?: string;
    text: string | (() => Promise<ReactNode>);
    onConfirm: () => Promise<unknown>;
    /** By default the verb with an ellipsis. */
    children?: ReactNode;
  },
) {
  const { action, label, disabled = false, kind = 'danger', text, onConfirm, children, ...question } = props;
  const [message, setMessage] = useState<ReactNode>(null);
  const button = useRef<HTMLButtonElement>(null);
  const wasConfirmed = useRef(false);
  const { busy } = action;
  // The work has disabled the button, and may remove it.
  useEffect(() => {
    if (wasConfirmed.current && !busy) keepFocus(button.current);
  }, [busy]);
  useEffect(() => () => void (wasConfirmed.current && keepFocus(null)), []);
  const confirm = () => {
    wasConfirmed.current = true;
    return action.run(onConfirm);
  };
  const ask = () =>
    typeof text === 'string' ? setMessage(text) : action.run(async () => setMessage(await text()));
  return (
    <>
      <Button ref={button} kind={kind} disabled={disabled || busy} aria-label={label} onClick={ask}>
        {children ?? `${question.verb}…`}
      </Button>
      {message !== null && (
        <Dialog {...question} onConfirm={confirm} onClose={() => setMessage(null)}>
          <div>{message}</div>
        </Dialog>
      )}
    </>
  );
}
