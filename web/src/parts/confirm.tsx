import { type ReactNode, useEffect, useRef, useState } from 'react';
import { TEXTS } from '../texts.ts';
import { Field } from './basics.tsx';

/** Asks before something that cannot be undone; with `name`, only who types it goes on. */
export function Confirm(props: {
  readonly title: string;
  readonly action: string;
  readonly name?: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  useEffect(() => dialog.current?.showModal(), []);
  const ready = props.name === undefined || typed === props.name;
  return (
    <dialog ref={dialog} onClose={props.onClose} aria-label={props.title}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready) return;
          props.onConfirm();
          props.onClose();
        }}
      >
        <h2>{props.title}</h2>
        <div>{props.children}</div>
        {props.name !== undefined && (
          <Field label={TEXTS.layer.typeName(props.name)}>
            <input value={typed} onChange={({ target }) => setTyped(target.value)} autoComplete="off" />
          </Field>
        )}
        <div className="row">
          <button type="submit" className="danger" disabled={!ready}>
            {props.action}
          </button>
          <button type="button" onClick={props.onClose}>
            {TEXTS.cancel}
          </button>
        </div>
      </form>
    </dialog>
  );
}
