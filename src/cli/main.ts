import { hasCode } from '../lib/error-code.ts';
import { COMMANDS } from './commands.ts';
import { runCli } from './run-cli.ts';

// A reader of the first lines only, such as head, closes the pipe.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error) => {
    if (!hasCode(error, 'EPIPE')) throw error;
  });
}

const ended = runCli(process.argv.slice(2), COMMANDS, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  columns: process.stderr.isTTY ? process.stderr.columns : null,
});
void ended.then((code) => {
  process.exitCode = code;
});
