import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readClientSettings } from './client-settings.ts';
import { SettingsError } from './settings-error.ts';

function read(flags: Record<string, string> = {}, environment: Record<string, string> = {}, folder = '/') {
  return readClientSettings({ flags, environment, workingFolder: folder });
}

describe('which server a command speaks to, and as whom', () => {
  it('the server of a command is the one on this machine, without an account, by default', () => {
    expect(read({}, { TILEWARDEN_SERVER: '', TILEWARDEN_USER: '' })).toEqual({
      server: 'http://127.0.0.1:8080',
      credentials: null,
    });
  });

  it('the server of a command comes from flags before variables', () => {
    const environment = { TILEWARDEN_SERVER: 'http://a:1', TILEWARDEN_PASSWORD: 'one' };
    expect(read({ server: 'https://b/gwc/', user: 'anna' }, environment)).toEqual({
      server: 'https://b/gwc',
      credentials: { kind: 'password', user: 'anna', password: 'one' },
    });
    expect(read({ password: 'two' }, environment).credentials).toMatchObject({
      user: 'admin',
      password: 'two',
    });
  });

  it('the password of a command is read from a file, without the line break at its end', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tilewarden-client-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'password'), 'from a file\n');
    expect(read({ 'password-file': 'password' }, {}, folder).credentials).toMatchObject({
      password: 'from a file',
    });
    expect(() => read({ 'password-file': 'absent' }, {}, folder)).toThrow(SettingsError);
  });

  it('the file of the first password, when absent, is reported as deleted with that password', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tilewarden-client-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const environment = { TILEWARDEN_PASSWORD_FILE: 'initial-admin-password' };
    expect(() => read({}, environment, folder)).toThrow(
      /^TILEWARDEN_PASSWORD_FILE {2}.*initial-admin-password does not exist: it is deleted when the password is changed/,
    );
    expect(() => read({ 'password-file': 'other' }, {}, folder)).toThrow(
      /^--password-file {2}.*other cannot be read \(ENOENT\)$/,
    );
  });

  it('the credentials of a command are a token before a user, or come from the address', () => {
    expect(read({ token: 't', user: 'anna' }).credentials).toEqual({ kind: 'token', token: 't' });
    expect(read({ server: 'http://anna:a%40b@maps:80/' })).toEqual({
      server: 'http://maps',
      credentials: { kind: 'password', user: 'anna', password: 'a@b' },
    });
  });

  it('client settings that make no sense are refused', () => {
    expect(() => read({ server: 'maps.example.org' })).toThrow(SettingsError);
    expect(() => read({ server: 'ftp://maps' })).toThrow(SettingsError);
    expect(() => read({ user: 'anna' })).toThrow(SettingsError);
  });
});
