import { type InputHTMLAttributes, type ReactNode, type Ref, useId, useState } from 'react';
import type { Problem } from '../api/client.ts';
import type { Action } from '../api/use-action.ts';
import type { Resource } from '../api/use-resource.ts';
import { TEXTS } from '../texts.ts';

export function Card(props: {
  readonly title?: string;
  readonly aside?: ReactNode;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  return (
    <section className={`card ${props.className ?? ''}`} aria-label={props.title}>
      {props.title !== undefined && (
        <header>
          <h2>{props.title}</h2>
          {props.aside}
        </header>
      )}
      {props.children}
    </section>
  );
}

export function ProblemNotice({
  problem,
  retry,
}: {
  readonly problem: Problem | null;
  readonly retry?: () => void;
}) {
  if (!problem) return null;
  return (
    <p className="notice bad" role="alert">
      <span>{problem.message}</span>
      {problem.requestId !== null && <span className="request">{TEXTS.request(problem.requestId)}</span>}
      {retry && (
        <button type="button" className="plain" onClick={retry}>
          {TEXTS.retry}
        </button>
      )}
    </p>
  );
}

/** What became of an action, good or bad. */
export function ActionNotices({ action: { problem, done } }: { readonly action: Action }) {
  return (
    <>
      <ProblemNotice problem={problem} />
      <DoneNotice text={done} />
    </>
  );
}

export function DoneNotice({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <p className="notice good" role="status">
      {text}
    </p>
  );
}

/** Shows the content as soon as it is there, and what went wrong beside it. */
export function Loaded<T>({
  resource,
  children,
}: {
  readonly resource: Resource<T>;
  readonly children: (data: T) => ReactNode;
}) {
  const { data, problem, reload } = resource;
  return (
    <>
      <ProblemNotice problem={problem} retry={reload} />
      {data === null && problem === null && <p className="empty">{TEXTS.loading}</p>}
      {data !== null && children(data)}
    </>
  );
}

/** One line of a list of facts; nothing when there is nothing to say. */
export function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  if (children === null) return null;
  return (
    <>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </>
  );
}

export function Empty({ children }: { readonly children: ReactNode }) {
  return <div className="empty">{children}</div>;
}

/** `share` is from 0 to 1; `fault` is the part of the whole that failed, and is within it. */
export function Bar({
  share,
  fault = 0,
  label,
  kind = '',
}: {
  readonly share: number;
  readonly fault?: number;
  readonly label: string;
  readonly kind?: string;
}) {
  const percent = Math.min(100, Math.max(0, share * 100));
  return (
    <div
      className={`bar ${kind}`}
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
    >
      <span style={{ width: `${Math.max(0, percent - fault * 100)}%` }} />
      {fault > 0 && <span className="fault" style={{ width: `${Math.min(percent, fault * 100)}%` }} />}
    </div>
  );
}

export function Field({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is put in
    <label className="field">
      {label}
      {children}
    </label>
  );
}

/** A labelled input; `onText` gets what is typed. */
export function Input({
  label,
  onText,
  ...input
}: InputHTMLAttributes<HTMLInputElement> & {
  readonly label: string;
  readonly onText: (text: string) => void;
  readonly ref?: Ref<HTMLInputElement>;
}) {
  return (
    <Field label={label}>
      <input {...input} onChange={({ target }) => onText(target.value)} />
    </Field>
  );
}

export function Check(props: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={props.checked}
        onChange={({ target }) => props.onChange(target.checked)}
      />
      {props.label}
    </label>
  );
}

/** A text field that says beneath what is wrong with it, or else what it wants. */
export function TextField({
  label,
  help = null,
  error = null,
  ...input
}: InputHTMLAttributes<HTMLInputElement> & {
  readonly label: string;
  readonly help?: ReactNode;
  readonly error?: string | null;
}) {
  const id = useId();
  const under = error ?? help;
  return (
    <div className="field-box">
      <Field label={label}>
        <input {...input} aria-invalid={error !== null} aria-describedby={under === null ? undefined : id} />
      </Field>
      <span id={id} className={error === null ? 'small quiet' : 'small field-error'} aria-live="polite">
        {under}
      </span>
    </div>
  );
}

export function Choice<T extends string>(props: {
  readonly label: string;
  readonly value: T;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly onChange: (value: T) => void;
}) {
  return (
    <Field label={props.label}>
      <select value={props.value} onChange={({ target }) => props.onChange(target.value as T)}>
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div className="copy">
      <pre>{text}</pre>
      <button
        type="button"
        className="plain"
        onClick={() => void copy()}
        aria-label={`${TEXTS.copy}: ${label}`}
      >
        {copied ? TEXTS.copied : TEXTS.copy}
      </button>
    </div>
  );
}

export function PageHead(props: {
  readonly title: string;
  readonly under?: ReactNode;
  readonly actions?: ReactNode;
}) {
  return (
    <header>
      <h1>{props.title}</h1>
      {props.under !== undefined && <span className="quiet">{props.under}</span>}
      {props.actions !== undefined && <div className="actions row">{props.actions}</div>}
    </header>
  );
}

/** Scrolls by itself where the page is narrow, by keyboard too. Rows are what is put in. */
export function Table(props: {
  readonly label: string;
  readonly head?: readonly ReactNode[];
  /** Heads that stand over numbers. */
  readonly numbers?: readonly ReactNode[];
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const { label, head, numbers = [], className, children } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <section className="wide" aria-label={label} tabIndex={0}>
      <table className={className}>
        {head && (
          <thead>
            <tr>
              {head.map((title, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns stay in their places
                <th key={place} className={numbers.includes(title) ? 'number' : undefined}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}

/** The head of a column of buttons. */
export function HiddenHead({ children }: { readonly children: string }) {
  return <span className="visually-hidden">{children}</span>;
}
