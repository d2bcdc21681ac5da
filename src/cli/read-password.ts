import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Terminal } from './command.ts';
import { CommandFailure } from './command-failure.ts';

/** Asked for twice on a terminal, without showing it; otherwise the first line of standard input. */
export async function readPassword(terminal: Terminal): Promise<string> {
  if (process.stdin.isTTY !== true) return firstLine();
  const password = await ask(terminal, 'Password: ');
  if (password === (await ask(terminal, 'Repeat password: '))) return password;
  throw new CommandFailure('The two passwords differ; nothing was changed.');
}

async function ask(terminal: Terminal, question: string): Promise<string> {
  terminal.err(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: nowhere, terminal: true, historySize: 0 });
  try {
    return await reader.question('');
  } finally {
    reader.close();
    terminal.err('\n');
  }
}

async function firstLine(): Promise<string> {
  const reader = createInterface({ input: process.stdin });
  for await (const line of reader) return line;
  throw new CommandFailure('The password is read from standard input, and there is none.');
}
