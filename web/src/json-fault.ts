import { TEXTS } from './texts.ts';

const SPACE = /[ \t\r\n]*/y;
const TOKEN =
  /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)\b|[[\]{},:]/uy;

type Wanted = 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'comma' | 'end';

/** The place where a text stops being JSON; null: valid. The messages of browsers differ. */
export function jsonFault(text: string): string | null {
  const open: string[] = [];
  let wanted: Wanted = 'value';
  let at = matched(SPACE, text, 0).length;
  while (at < text.length) {
    const token = matched(TOKEN, text, at);
    const next: Wanted | null = token === '' ? null : after(token, wanted, open);
    if (next === null) return faultAt(text, at);
    wanted = next;
    at += token.length;
    at += matched(SPACE, text, at).length;
  }
  return wanted === 'end' ? null : faultAt(text, at);
}

/** The next state; null: the token is invalid there. */
function after(token: string, wanted: Wanted, open: string[]): Wanted | null {
  if (token === ':') return wanted === 'colon' ? 'value' : null;
  if (token === ',') return wanted !== 'comma' ? null : open.at(-1) === '{' ? 'key' : 'value';
  if (token === ']' || token === '}') return closes(token, wanted, open) ? valueEnd(open) : null;
  if (wanted === 'key' || wanted === 'first key') return token.startsWith('"') ? 'colon' : null;
  if (wanted !== 'value' && wanted !== 'first value') return null;
  if (token !== '[' && token !== '{') return valueEnd(open);
  open.push(token);
  return token === '[' ? 'first value' : 'first key';
}

function closes(token: ']' | '}', wanted: Wanted, open: string[]): boolean {
  const [opener, first] = token === ']' ? ['[', 'first value'] : ['{', 'first key'];
  return (wanted === 'comma' || wanted === first) && open.at(-1) === opener && open.pop() !== undefined;
}

function valueEnd(open: readonly string[]): Wanted {
  return open.length === 0 ? 'end' : 'comma';
}

function matched(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? '';
}

function faultAt(text: string, at: number): string {
  const lines = text.slice(0, at).split('\n');
  const found = text.slice(at).split('\n', 1)[0]?.slice(0, 20) ?? '';
  return TEXTS.add.notJson(lines.length, (lines.at(-1)?.length ?? 0) + 1, found);
}
