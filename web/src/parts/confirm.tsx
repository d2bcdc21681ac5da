import { type ReactNode, useState } from 'react';
import { TEXTS } from '../texts.ts';
import { Copy, Input } from './basics.tsx';
import { Dialog } from './dialog.tsx';

/** Asks before something that cannot be undone; with `name`, only who types it goes on. */
export function Confirm(props: {
  readonly title: string;
  readonly action: string;
  readonly name?: string;
  /** What does the same from a shell. */
  readonly command?: string;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const [typed, setTyped] = useState('');
  const { title, action, name, onConfirm, onClose } = props;
  const ready = name === undefined || typed === name;
  return (
    <Dialog {...{ title, action, ready, onConfirm, onClose }} kind="danger">
      <div>{props.children}</div>
      {props.command !== undefined && <Copy text={props.command} label={TEXTS.tasks.curl} />}
      {name !== undefined && (
        <Input label={TEXTS.layer.typeName(name)} value={typed} autoComplete="off" onText={setTyped} />
      )}
    </Dialog>
  );
}
