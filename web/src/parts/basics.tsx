import { type ComponentProps, type FormEvent, Fragment, type ReactNode, useId, useState } from 'react';
import type { Problem } from '../api/client.ts';
import type { Action, Resource } from '../api/use-resource.ts';
import { docsAddress } from '../docs-address.ts';
import { fill, labelled } from '../format.ts';
import { useRoute } from '../route.ts';
import { chooseLanguage, LANGUAGE, LANGUAGES, TEXTS } from '../texts.ts';

export function Card(props: { title?: string; aside?: ReactNode; className?: string; children: ReactNode }) {
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

export function ProblemNotice({ problem, retry }: { problem: Problem | null; retry?: () => void }) {
  if (!problem) return null;
  return (
    <p className="notice bad" role="alert">
      <span>{problem.message}</span>
      {problem.requestId !== null && (
        <span className="request">{fill(TEXTS.request, { id: problem.requestId })}</span>
      )}
      {retry && (
        <Button kind="plain" onClick={retry}>
          {TEXTS.retry}
        </Button>
      )}
    </p>
  );
}

export function ActionNotices({ action: { problem, done } }: { action: Action }) {
  return (
    <>
      <ProblemNotice problem={problem} />
      {done !== null && (
        <p className="notice good" role="status">
          {done}
        </p>
      )}
    </>
  );
}

/** The content once it has arrived, and its problem. `empty` may return a text to show instead of the content. */
export function Loaded<T>(props: {
  resource: Resource<T>;
  empty?: (data: T) => ReactNode;
  children: (data: T) => ReactNode;
}) {
  const { data, problem, reload } = props.resource;
  const nothing = data !== null && props.empty?.(data);
  return (
    <>
      <ProblemNotice problem={problem} retry={reload} />
      {data === null && problem === null && <Empty>{TEXTS.loading}</Empty>}
      {nothing ? <Empty>{nothing}</Empty> : data !== null && props.children(data)}
    </>
  );
}

/** A label with its value; not shown if the value is null. */
export type Fact = readonly [label: string, value: ReactNode];

export function Facts(props: { of: readonly Fact[]; kind?: string }) {
  return (
    <dl className={`facts ${props.kind ?? ''}`}>
      {props.of.map(
        ([label, value]) =>
          value !== null && (
            <Fragment key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </Fragment>
          ),
      )}
    </dl>
  );
}

export function Empty({ children }: { children: ReactNode }) {
  return <div className="empty">{children}</div>;
}

/** A cell with a second line. */
export function Named({ name, kind }: { name: ReactNode; kind: string }) {
  return (
    <span>
      {name}
      <span className="small quiet block">{kind}</span>
    </span>
  );
}

type ButtonProps = Omit<ComponentProps<'button'>, 'onClick'> & { kind?: string; onClick?: () => unknown };

/** The result of `onClick` is not awaited. */
export function Button({ kind = '', onClick, ...button }: ButtonProps) {
  return <button type="button" className={kind} {...button} onClick={onClick && (() => void onClick())} />;
}

export function LinkButton({ kind = '', children, ...link }: ComponentProps<'a'> & { kind?: string }) {
  return (
    <a className={`button ${kind}`} {...link}>
      {children}
    </a>
  );
}

/** `share` is from 0 to 1, and includes `fault`, the share that failed. */
export function Bar(props: { share: number; fault?: number; label: string; kind?: string }) {
  const { share, fault = 0, label, kind = '' } = props;
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

export function Field({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is in `children`
    <label className="field">
      {label}
      {children}
    </label>
  );
}

export interface InputProps extends ComponentProps<'input'> {
  readonly label: string;
  readonly onText?: (text: string, isPicked: boolean) => void;
}

export function Input({ label, onText, ...input }: InputProps) {
  return (
    <Field label={label}>
      <input
        {...input}
        onChange={onText && (({ target, nativeEvent }) => onText(target.value, isReplacement(nativeEvent)))}
      />
    </Field>
  );
}

/** Whether the text was chosen from the list of suggestions, which browsers report so. */
function isReplacement(event: Event): boolean {
  return event instanceof InputEvent && event.inputType === 'insertReplacementText';
}

export function Password({ fresh = false, ...input }: InputProps & { fresh?: boolean; help?: string }) {
  const rule = fresh && { pattern: '.{12,}', title: TEXTS.accounts.passwordRule };
  const autoComplete = fresh ? 'new-password' : 'current-password';
  return <TextField type="password" autoComplete={autoComplete} required {...rule} {...input} />;
}

/** A field for text that programs read, such as JSON. */
type CodeProps = ComponentProps<'textarea'> & { label: string; onText: (text: string) => void };

export function CodeField({ label, onText, ...area }: CodeProps) {
  return (
    <Field label={label}>
      <textarea
        className="mono"
        spellCheck={false}
        {...area}
        onChange={({ target }) => onText(target.value)}
      />
    </Field>
  );
}

type FormProps = Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => unknown };

/** A form whose submission the page handles, not the browser. */
export function Form({ onSubmit, ...form }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return <form {...form} onSubmit={submit} />;
}

interface CheckProps {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}

/** A checkbox in a row of a list, with a label for screen readers only. */
export function Mark({ label, checked, onChange }: CheckProps) {
  return (
    <input
      type="checkbox"
      aria-label={label}
      checked={checked}
      onChange={({ target }) => onChange(target.checked)}
    />
  );
}

export function Check({ label, checked, onChange }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={({ target }) => onChange(target.checked)} />
      {label}
    </label>
  );
}

type TextFieldProps = InputProps & { help?: ReactNode; error?: string | null };

/** An input with its error or help beneath. While it has an error, its form cannot be submitted. */
export function TextField({ help = null, error = null, ...input }: TextFieldProps) {
  const id = useId();
  const under = error ?? help;
  const refuse = (element: HTMLInputElement | null) => element?.setCustomValidity(error ?? '');
  return (
    <div className="field-box">
      <Input
        {...input}
        ref={refuse}
        aria-invalid={error !== null}
        aria-describedby={under === null ? undefined : id}
      />
      <span id={id} className={error === null ? 'small quiet' : 'small field-error'} aria-live="polite">
        {under}
      </span>
    </div>
  );
}

type Options<T extends string> =
  | readonly (T | readonly [value: T, text: string])[]
  | Readonly<Record<T, string>>;

export function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: Options<T>;
  onChange: (value: T) => void;
}) {
  const { label, value, options, onChange } = props;
  const offered = (Array.isArray(options) ? options : Object.entries(options)) as readonly (
    | T
    | [T, string]
  )[];
  return (
    <Field label={label}>
      <select value={value} onChange={({ target }) => onChange(target.value as T)}>
        {offered.map((one) => {
          const [name, text] = typeof one === 'string' ? [one, one] : one;
          return (
            <option key={name} value={name}>
              {text}
            </option>
          );
        })}
      </select>
    </Field>
  );
}

export function LanguageChoice() {
  return <Choice label={TEXTS.language} value={LANGUAGE} options={LANGUAGES} onChange={chooseLanguage} />;
}

/** Binds controls to fields of a draft, e.g. `<Input label="…" {...tied(draft, change).text('name')} />`. */
export function tied<Draft extends object>(draft: Draft, onChange: (changes: Partial<Draft>) => void) {
  const setter = (name: keyof Draft) => (value: unknown) => onChange({ [name]: value } as Partial<Draft>);
  return {
    text: (name: keyof Draft) => ({ value: String(draft[name]), onText: setter(name) }),
    choice: <Name extends keyof Draft>(name: Name) => ({
      value: draft[name] as Draft[Name] & string,
      onChange: setter(name),
    }),
    check: (name: keyof Draft) => ({ checked: Boolean(draft[name]), onChange: setter(name) }),
  };
}

/** A text to copy; folded under its label if it is long or seldom wanted. */
export function Copy({ text, label, folded = false }: { text: string; label: string; folded?: boolean }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  const shown = (
    <div className="copy">
      <pre>{text}</pre>
      <Button kind="plain" onClick={copy} aria-label={labelled(TEXTS.copy, label)}>
        {copied ? TEXTS.copied : TEXTS.copy}
      </Button>
    </div>
  );
  if (!folded) return shown;
  return (
    <details>
      <summary>{label}</summary>
      {shown}
    </details>
  );
}

export function PageHead(props: { title: string; under?: ReactNode; actions?: ReactNode }) {
  return (
    <header>
      <h1>{props.title}</h1>
      <Help />
      {props.under !== undefined && <span className="quiet">{props.under}</span>}
      {props.actions !== undefined && <div className="actions row">{props.actions}</div>}
    </header>
  );
}

/** A link to the chapter of the documentation about this page. */
function Help() {
  const { page } = useRoute();
  return (
    <LinkButton
      kind="chip quiet"
      href={docsAddress(page)}
      target="_blank"
      rel="noopener"
      aria-label={TEXTS.help}
    >
      ?
    </LinkButton>
  );
}

/** On narrow screens, each row is a list of its cells; a table that is too wide scrolls, also by keyboard. */
export function Table(props: {
  label: string;
  head?: readonly string[];
  /** Count of the last columns, which are numbers. */
  numbers?: number;
  /** Hidden heading of the last column, which has buttons. */
  buttons?: string;
  className?: string;
  rows: readonly (readonly [key: string | number, ...cells: ReactNode[]])[];
}) {
  const { label, head, numbers = 0, buttons, className, rows } = props;
  const kindOf = (column: number) => (head && column >= head.length - numbers ? 'number' : undefined);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <section className="wide" aria-label={label} tabIndex={0}>
      <table className={className}>
        {head && (
          <thead>
            <tr>
              {head.map((title, place) => (
                <th key={title} className={kindOf(place)}>
                  {title}
                </th>
              ))}
              {buttons !== undefined && (
                <th>
                  <span className="visually-hidden">{buttons}</span>
                </th>
              )}
            </tr>
          </thead>
        )}
        <tbody>
          {rows.map(([key, ...cells]) => (
            <tr key={key}>
              {cells.map((cell, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns stay where they are
                <td key={column} className={kindOf(column)} data-label={head?.[column]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
