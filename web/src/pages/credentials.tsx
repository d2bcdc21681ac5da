import { type ReactNode, useState } from 'react';
import { type ApiResponse, send } from '../api/client.ts';
import { useAction } from '../api/use-resource.ts';
import { fill, listOf, timeText } from '../format.ts';
import { Button, Copy, Empty, Form, Input, ProblemNotice, Table } from '../parts/basics.tsx';
import { ConfirmButton } from '../parts/dialog.tsx';
import { TEXTS } from '../texts.ts';
import { forgetInput } from '../unsaved.ts';

type Credential = Pick<
  ApiResponse<'GET /api/v1/keys'>['keys'][number],
  'id' | 'name' | 'expiresAt' | 'lastUsedAt'
>;

interface CredentialProps<T extends Credential> {
  /** The collection: `POST` creates an item, `DELETE` with its id removes it. */
  readonly path: string;
  readonly items: readonly T[];
  readonly onChanged: () => void;
  readonly words: {
    readonly title: string;
    readonly none: string;
    /** Text above a new secret, which is shown only once. */
    readonly created: string;
    readonly remove: string;
    readonly removeTitle: string;
    readonly removeText: string;
  };
  /** Columns before the times. */
  readonly head: readonly string[];
  readonly cells: (item: T) => readonly ReactNode[];
  readonly secretOf: (response: unknown) => string;
  readonly form: (onAdd: AddProps['onAdd']) => ReactNode;
}

/** Tokens or keys: a list, and a form to create one. */
export function Credentials<T extends Credential>(props: CredentialProps<T>) {
  const { path, items, onChanged, words } = props;
  const action = useAction();
  const [created, setCreated] = useState<{ readonly id: number } | null>(null);
  const add = async (draft: object) => {
    setCreated(await send('POST', path, draft));
    onChanged();
  };
  const remove = async (id: number) => {
    await send('DELETE', `${path}/${id}`);
    if (created?.id === id) setCreated(null);
    onChanged();
  };
  const timeOrNever = (time: string | null) => (time === null ? TEXTS.never : timeText(time));
  return (
    <div className="stack">
      <ProblemNotice problem={action.problem} />
      {created && (
        <div className="notice good" role="status">
          <span>{words.created}</span>
          <Copy label={words.title} text={props.secretOf(created)} />
        </div>
      )}
      {items.length === 0 ? (
        <Empty>{words.none}</Empty>
      ) : (
        <Table
          label={words.title}
          head={[...props.head, TEXTS.inspect.expires, TEXTS.accounts.lastUsed]}
          buttons={words.remove}
          rows={items.map((item) => [
            item.id,
            ...props.cells(item),
            timeOrNever(item.expiresAt),
            timeOrNever(item.lastUsedAt),
            <ConfirmButton
              key="remove"
              action={action}
              label={fill(words.removeTitle, { name: item.name })}
              title={fill(words.removeTitle, { name: item.name })}
              verb={words.remove}
              text={words.removeText}
              onConfirm={() => remove(item.id)}
            />,
          ])}
        />
      )}
      {props.form((draft) => action.run(() => add(draft)))}
    </div>
  );
}

export interface AddProps<Draft = object> {
  /** Adds an item; resolves to whether that succeeded. */
  readonly onAdd: (draft: Draft) => Promise<boolean>;
}

/** Fields of a form that adds an item; cleared after that, unless the user has changed them in the meantime. */
export function useAddFields<Fields extends object>(first: Fields) {
  const [typed, setTyped] = useState(first);
  return {
    typed,
    change: (changes: Partial<Fields>) => setTyped((now) => ({ ...now, ...changes })),
    async clearAfter(adding: Promise<boolean>): Promise<void> {
      if (!(await adding)) return;
      forgetInput();
      setTyped((now) => (now === typed ? first : now));
    },
  };
}

export function AddForm(props: { verb: string; onSubmit: () => unknown; children: ReactNode }) {
  return (
    <Form className="form-grid tops" onSubmit={props.onSubmit} aria-label={props.verb}>
      {props.children}
      <Button type="submit" kind="beside-fields">
        {props.verb}
      </Button>
    </Form>
  );
}

export function layerNames(layers: readonly string[]): ReactNode {
  return (
    <span key="layers" className="mono">
      {layers.join(', ')}
    </span>
  );
}

export function areaNames(areas: readonly string[] | null): string {
  return areas?.join(', ') ?? TEXTS.keys.everywhere;
}

/** A typed list; null, for no limit, if empty. */
export function listOrNull(typed: string): string[] | null {
  return typed.trim() === '' ? null : listOf(typed);
}

/** The end of a day in this browser's time zone, as an ISO 8601 time; null for no day. */
export function endOfDay(day: string): string | null {
  return day === '' ? null : new Date(`${day}T23:59:59`).toISOString();
}

/** The last day of validity. */
export function Expiry(props: { label: string; value: string; onText: (day: string) => void }) {
  return <Input type="date" min={new Date().toLocaleDateString('sv')} {...props} />;
}
