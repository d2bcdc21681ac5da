// Part of the build: loads its files with the code that V8 compiled during the build. See docs/decisions/0320.
const { readFileSync } = require('node:fs');
const { dirname, join, relative } = require('node:path');
const { cachedDataVersionTag } = require('node:v8');
const { Script } = require('node:vm');

/** Compiled code is good for one Node.js with one set of V8's flags on one kind of processor; others compile again. */
const folder = join(__dirname, 'compiled', `${process.version}-${process.arch}-${cachedDataVersionTag()}`);
const modules = new Map();

function compiledFile(file) {
  return join(folder, relative(__dirname, file).replace(/[\\/]/g, '+'));
}

/** The file beside an entry, of the same name. */
function enter(entry) {
  entry.exports = load(entry.filename.replace(/\.js$/, '.cjs'));
}

function load(file) {
  const earlier = modules.get(file);
  if (earlier) return earlier.exports;
  const module = { exports: {} };
  modules.set(file, module);
  const here = dirname(file);
  const requireFrom = (name) => (name.startsWith('.') ? load(join(here, name)) : require(name));
  compile(file)(module.exports, requireFrom, module, file, here);
  return module.exports;
}

function compile(file) {
  const script = new Script(readFileSync(file, 'latin1'), {
    filename: file,
    cachedData: readIfPresent(compiledFile(file)),
  });
  return script.runInThisContext();
}

function readIfPresent(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

module.exports = { folder, compiledFile, enter };
