import { expect, it } from 'vitest';
import { explainingDataFaults } from './data-folder.ts';

const DATA = '/srv/tilewarden';
const faultOf = (code: string, path: string | null) =>
  explainingDataFaults(DATA, async () => {
    throw Object.assign(new Error(`${code}: the system's words`), { code, ...(path && { path }) });
  }).catch(({ message }: Error) => message);

it.each([
  ['EACCES', `${DATA}/data.db`, 'cannot be written: its disk is read-only, or this user may not.'],
  ['EROFS', DATA, 'cannot be written: its disk is read-only, or this user may not.'],
  ['SQLITE_READONLY_DIRECTORY', null, 'cannot be written: its disk is read-only, or this user may not.'],
  ['ENOTDIR', DATA, 'is a file, or below one.'],
  ['ENOENT', DATA, 'cannot be created.'],
])('a start with a data folder that fails by %s is reported in one line', async (...given) => {
  const [code, path, fault] = given;
  expect(await faultOf(code, path)).toBe(
    `The data folder ${DATA} ${fault} Choose another folder with --data.`,
  );
});

it('a fault of another file at a start is not blamed on the data folder', async () => {
  expect(await faultOf('EACCES', '/etc/tilewarden.yaml')).toBe("EACCES: the system's words");
});
