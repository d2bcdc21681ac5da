// Loaded by the build before a server that it starts: when one of its processes or threads ends, V8's compiled code is kept.
const { mkdirSync, readdirSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { isMainThread, threadId } = require('node:worker_threads');
const vm = require('node:vm');

/** Readable by the account that runs the server, as the rest of the build. */
const UMASK = 0o022;
const scripts = new Map();

vm.Script = class extends vm.Script {
  constructor(code, options) {
    super(code, options);
    scripts.set(options.filename, this);
  }
};

process.on('exit', () => {
  process.umask(UMASK);
  const dist = join(dirname(process.argv[1]), '..');
  const { compiledFile, enter } = require(join(dist, 'load.cjs'));
  if (isMainThread) loadOthers(dist, enter);
  for (const [file, script] of scripts) keepLarger(compiledFile(file), script.createCachedData());
});

/** The clients of S3, Azure and PostgreSQL, and other parts that this start did not need: they do no work when loaded. */
function loadOthers(dist, enter) {
  const files = readdirSync(dist).filter((name) => name.endsWith('.cjs') && name !== 'load.cjs');
  for (const name of files) enter({ filename: join(dist, name.replace(/cjs$/, 'js')) });
}

/** Several processes load the same file: the one that used more of it has compiled more. */
function keepLarger(file, compiled) {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size >= compiled.length) return;
  const aside = `${file}.${process.pid}-${threadId}`;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(aside, compiled);
  renameSync(aside, file);
}
