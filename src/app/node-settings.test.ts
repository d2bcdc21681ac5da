import { expect, it, vi } from 'vitest';
import { whenOver } from '../../test/fixtures/when-over.ts';
import { processSocketOf } from './node-settings.ts';

const LONG = '/Ordner mit Ümläut'.repeat(6);

it.each([
  ['the data folder', '/data', '/var/tmp', /^\/data\/http\.sock$/],
  ['the temporary folder', LONG, '/var/tmp', /^\/var\/tmp\/tilewarden-[0-9a-f]{24}\.sock$/],
  ['/tmp', LONG, LONG, /^\/tmp\/tilewarden-[0-9a-f]{24}\.sock$/],
])(
  "the socket of a server's processes is in %s if the folders before it are too long",
  (_, data, temporary, path) => {
    vi.stubEnv('TMPDIR', temporary);
    whenOver(() => vi.unstubAllEnvs());
    expect(processSocketOf({ data })).toMatch(path);
  },
);
