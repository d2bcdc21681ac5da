#!/usr/bin/env node
import { COMMANDS } from './commands.ts';
import { runCli } from './run-cli.ts';

process.exitCode = await runCli(process.argv.slice(2), COMMANDS, {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  columns: process.stderr.isTTY ? process.stderr.columns : null,
});
