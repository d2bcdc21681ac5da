// Loaded into a server before anything else: writes down every file that is opened and every connection that is
// made from JavaScript, one line each, to the file that WATCHED_OPENS names.
import fs, { appendFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';

const record = process.env.WATCHED_OPENS;
const note = (what, subject) => appendFileSync(record, `${what} ${String(subject)}\n`);

function watch(owner, name) {
  const original = owner[name];
  owner[name] = function watched(path, ...rest) {
    if (path !== record && typeof path !== 'number') note('open', path);
    return original.call(this, path, ...rest);
  };
}

if (record) {
  for (const name of [
    'open',
    'openSync',
    'readFile',
    'readFileSync',
    'createReadStream',
    'opendir',
    'opendirSync',
    'readdirSync',
    'readdir',
  ]) {
    watch(fs, name);
  }
  for (const name of ['open', 'readFile', 'readdir']) watch(fs.promises, name);
  const connect = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function watchedConnect(...args) {
    note('connect', JSON.stringify(args[0]));
    return connect.apply(this, args);
  };
  syncBuiltinESMExports();
}
