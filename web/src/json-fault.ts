import { TEXTS } from './texts.ts';

const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b|[[\]{},:]/uy;

type Expected = 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'comma' | 'end';

/** The place where a text stops being JSON; null: valid. The messages of browsers differ. */
export function jsonFault(text: string): string | null {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = matchAt(SPACE, text, 0).length;
  while (at < text.length) {
    const token = matchAt(TOKEN, text, at);
    const next: Expected | null = token === '' ? null : after(token, expected, open);
    if (next === null) return faultAt(text, at);
    expected = next;
    at += token.length;
    at += matchAt(SPACE, text, at).length;
  }
  return expected === 'end' ? null : faultAt(text, at);
}

/** The next state; null: the token is invalid there. */
function after(token: string, expected: Expected, open: string[]): Expected | null {
  if (token === ':') return expected === 'colon' ? 'value' : null;
  if (token === ',') return expected !== 'comma' ? null : open.at(-1) === '{' ? 'key' : 'value';
  if (token === ']' || token === '}') return closes(token, expected, open) ? valueEnd(open) : null;
  if (expected === 'key' || expected === 'first key') return token.startsWith('"') ? 'colon' : null;
  if (expected !== 'value' && expected !== 'first value') return null;
  if (token !== '[' && token !== '{') return valueEnd(open);
  open.push(token);
  return token === '[' ? 'first value' : 'first key';
}

function closes(token: ']' | '}', expected: Expected, open: string[]): boolean {
  const [opener, first] = token === ']' ? ['[', 'first value'] : ['{', 'first key'];
  return (expected === 'comma' || expected === first) && open.at(-1) === opener && open.pop() !== undefined;
}

function valueEnd(open: readonly string[]): Expected {
  return open.length === 0 ? 'end' : 'comma';
}

function matchAt(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

function faultAt(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n');
  const rest = text.slice(at).split('\n', 1)[0]?.slice(0, 20) ?? '';
  return TEXTS.add.notJson(lines.length, (lines.at(-1)?.length ?? 0) + 1, rest);
}
