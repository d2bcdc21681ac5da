// Loaded by the build before a server that it starts: when a process or thread of it ends, what V8 has compiled is kept.
const { mkdirSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { threadId } = require('node:worker_threads');
const vm = require('node:vm');

/** Readable by the account that runs the server, as the rest of the build. */
const AS_THE_BUILD = 0o022;
const scripts = new Map();

vm.Script = class extends vm.Script {
  constructor(code, options) {
    super(code, options);
    scripts.set(options.filename, this);
  }
};

process.on('exit', () => {
  process.umask(AS_THE_BUILD);
  const { compiledFile } = require(join(dirname(process.argv[1]), '..', 'load.cjs'));
  for (const [file, script] of scripts) keepLarger(compiledFile(file), script.createCachedData());
});

/** Several processes load the same file: who has used more of it has compiled more. */
function keepLarger(file, compiled) {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size >= compiled.length) return;
  const aside = `${file}.${process.pid}-${threadId}`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(aside, compiled);
  renameSync(aside, file);
}
