import { describe, expect, it } from 'vitest';
import { createAddressGuard, hostsNamedIn } from './address-guard.ts';

const strict = createAddressGuard({ allowPrivate: false });
const lenient = createAddressGuard({ allowPrivate: true });

describe('the address guard', () => {
  it.each(['8.8.8.8', '2001:4860:4860::8888', '[2001:4860:4860::8888]', 'maps.example.org'])(
    'the address guard allows %s',
    (host) => {
      expect(strict.refuses(host)).toBeNull();
    },
  );

  it.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fd12::1',
    '::ffff:10.0.0.1',
  ])('the address guard allows %s only with private addresses', (host) => {
    expect(strict.refuses(host)).not.toBeNull();
    expect(lenient.refuses(host)).toBeNull();
  });

  it.each([
    '169.254.169.254',
    '[fe80::1]',
    'fd00:ec2::254',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '::ffff:169.254.169.254',
    '::169.254.169.254',
    '::ffff:0:169.254.169.254',
    '64:ff9b::169.254.169.254',
    '2002:a9fe:a9fe::',
    '168.63.129.16',
  ])('the address guard never allows %s', (host) => {
    expect(strict.refuses(host)).not.toBeNull();
    expect(lenient.refuses(host)).not.toBeNull();
  });

  it('the address guard refuses a name that resolves to an address that is not allowed', async () => {
    const refused = await new Promise((resolve) => {
      strict.lookup('localhost', { all: true }, (error) => resolve(error));
    });
    expect(String(refused)).toContain('AddressRefused');
  });

  it('the address guard tells an administrator which kind of address it is, and what can be done', () => {
    expect(strict.refuses('10.1.2.3')?.advice).toContain('allowPrivate');
    expect(strict.refuses('169.254.169.254')?.advice).toContain('no request is sent');
  });
});

describe('the hosts that a configuration names', () => {
  it('the hosts of a configuration are found in every address, ports and subdomains included', () => {
    const sources = [
      { type: 'wms', url: 'http://localhost:8080/wms?map=a' },
      { type: 'xyz', url: 'https://{s}.tiles.internal/{z}/{x}/{y}.png', subdomains: ['a', 'b'] },
      { type: 'xyz', byGridSet: { own: { url: 'http://10.0.0.7/{z}/{x}/{y}' } } },
      { type: 'archive', path: '/data/a.mbtiles' },
      { type: 'world' },
    ];
    expect([...hostsNamedIn(sources)]).toEqual([
      'localhost:8080',
      'a.tiles.internal:443',
      'b.tiles.internal:443',
      '10.0.0.7:80',
    ]);
  });
});
