import { expect, it } from 'vitest';
import { askIndex } from './ask-index.ts';

it.each([
  ['42703', 'The database that lists the stored tiles refused a query: no such column.'],
  ['database-unreachable', 'The database that lists the stored tiles does not answer.'],
])(
  'a failure %s of the index says whether the database refused it, and has its cause',
  async (code, message) => {
    const cause = Object.assign(new Error('no such column'), { code });
    await expect(askIndex(() => Promise.reject(cause))).rejects.toMatchObject({
      code: 'store-failed',
      message,
      cause,
    });
  },
);
