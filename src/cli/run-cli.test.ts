import { describe, expect, it } from 'vitest';
import { UnavailableError } from '../lib/error-code.ts';
import { type Command, CommandFailure, flag } from './command.ts';
import { COMMANDS } from './commands.ts';
import { runCli } from './run-cli.ts';

const fly: Command = {
  name: 'fly',
  summary: 'go up',
  flags: [flag('height', 'METRES', 'how far up'), flag('quiet', null, 'without a sound')],
  async run(flags, terminal) {
    terminal.out(JSON.stringify(flags));
    return 3;
  },
};

const carry: Command = {
  name: 'carry',
  summary: 'take along',
  operands: { usage: 'THING [WHERE]', least: 1, most: 2 },
  flags: [{ name: 'label', placeholder: 'TEXT', help: 'may be repeated', repeatable: true }],
  async run(_flags, terminal, { operands, repeated }) {
    terminal.out(JSON.stringify([operands, repeated.get('label') ?? []]));
    throw new CommandFailure('It fell down.', 4);
  },
};

const wait: Command = {
  name: 'wait',
  summary: 'need something that is away',
  flags: [],
  async run() {
    throw new UnavailableError('The database cannot be reached.', {
      cause: new Error('connect ECONNREFUSED'),
    });
  },
};

async function run(...args: string[]) {
  let out = '';
  let err = '';
  const terminal = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
  };
  return { code: await runCli(args, [fly, carry, wait], terminal), out, err };
}

describe('the command line', () => {
  it('the command line runs a command with its flags and ends with its exit code', async () => {
    expect(await run('fly', '--height', '10', '--quiet')).toEqual({
      code: 3,
      out: '{"height":"10","quiet":"true"}',
      err: '',
    });
    expect((await run('fly', '--height=10')).out).toBe('{"height":"10"}');
  });

  it('the command line suggests the command that was meant', async () => {
    expect(await run('fyl')).toEqual({
      code: 2,
      out: '',
      err: 'Unknown command fyl. Did you mean fly?\nSee: tilewarden --help\n',
    });
  });

  it('the command line suggests the flag that was meant', async () => {
    expect(await run('fly', '--hieght', '10')).toEqual({
      code: 2,
      out: '',
      err: 'fly has no flag --hieght. Did you mean --height?\nSee: tilewarden fly --help\n',
    });
  });

  it('the command line refuses arguments and values that it would have to ignore', async () => {
    expect((await run('fly', 'away')).err).toContain('takes no argument away');
    expect((await run('fly', '--height')).err).toContain('--height needs a value: METRES');
    expect((await run('fly', '--quiet=yes')).err).toContain('--quiet takes no value');
    expect(await run()).toMatchObject({ code: 2, err: 'No command given.\nSee: tilewarden --help\n' });
  });

  it('the command line passes on its arguments, and every value of a flag that may be repeated', async () => {
    const line = await run('carry', 'box', '--label', 'a', 'home', '--label=b');
    expect(line.out).toBe('[["box","home"],["a","b"]]');
    expect((await run('carry')).err).toContain('tilewarden carry THING [WHERE]');
    expect((await run('carry', 'a', 'b', 'c')).code).toBe(2);
    expect((await run('carry', '--help')).out).toContain('Usage: tilewarden carry THING [WHERE] [FLAGS]');
  });

  it('the command line reports what cannot be reached, and why, without a stack', async () => {
    expect(await run('wait')).toMatchObject({
      code: 1,
      err: 'The database cannot be reached. connect ECONNREFUSED\n',
    });
  });

  it('the command line reports why a command failed, without a stack, and ends with its exit code', async () => {
    expect(await run('carry', 'box')).toMatchObject({ code: 4, err: 'It fell down.\n' });
  });

  it('the command line has help for itself and for each command', async () => {
    const general = await run('--help');
    expect(general.code).toBe(0);
    expect(general.out).toMatch(/fly +go up/);
    expect((await run('fly', '--help')).out).toContain('--height METRES  how far up');
  });

  it.each(['worker', 'export', 'migrate-store', 'rebuild-index', 'backup', 'user', 'token', 'check-config'])(
    'the help of %s lists no flags that only matter to a server',
    (name) => {
      const flags = COMMANDS.find((command) => command.name === name)?.flags.map((one) => one.name);
      expect(flags).toEqual(expect.arrayContaining(['config', 'data']));
      for (const foreign of ['host', 'port', 'processes', 'no-auth', 'memory-tier']) {
        expect(flags).not.toContain(foreign);
      }
    },
  );

  it('the command line prints its version', async () => {
    expect((await run('--version')).out).toMatch(/^\d+\.\d+\.\d+(-dev)?\n$/);
  });
});
