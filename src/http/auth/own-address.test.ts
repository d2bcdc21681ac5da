import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createProxyTrust, isLoopbackHost, ownAddress } from './peer.ts';
import { sourceAddress } from './request-checks.ts';

function requestFrom(remoteAddress: string, headers: Record<string, string>): IncomingMessage {
  const socket = { remoteAddress, localAddress: '10.0.0.1', localPort: 8080 };
  return { headers, socket } as unknown as IncomingMessage;
}

const FORWARDED = {
  host: 'inside:8080',
  'x-forwarded-host': 'maps.example, inner.example',
  'x-forwarded-proto': 'https',
  'x-forwarded-prefix': '/cache',
};

describe('the own address', () => {
  it('the own address is the one the caller used, with the prefix', () => {
    const request = requestFrom('192.0.2.1', { host: 'maps.example:8080' });
    expect(ownAddress(request, '/geowebcache', () => false)).toBe('http://maps.example:8080/geowebcache');
  });

  it('the own address is the one that a trusted proxy reports', () => {
    const trusts = createProxyTrust(['10.0.0.0/8']);
    const address = ownAddress(requestFrom('::ffff:10.1.2.3', FORWARDED), '', trusts);
    expect(address).toBe('https://maps.example/cache');
  });

  it('the own address is not taken from an untrusted client', () => {
    const trusts = createProxyTrust(['10.0.0.0/8']);
    expect(ownAddress(requestFrom('192.0.2.1', FORWARDED), '', trusts)).toBe('http://inside:8080');
  });

  it.each(['evil"><script>', 'a b', 'a/b', 'user@host', ''])('the own address never has host %j', (host) => {
    expect(ownAddress(requestFrom('192.0.2.1', { host }), '', () => false)).toBe('http://10.0.0.1:8080');
  });
});

describe('trusted proxies', () => {
  it.each([
    ['10.0.0.7', '10.0.0.7', true],
    ['10.0.0.7', '10.0.0.8', false],
    ['fd00::/8', 'fd12::1', true],
    ['::1', '0:0:0:0:0:0:0:1', true],
    ['0.0.0.0/0', '::1', false],
    ['10.0.0.0/8', 'not an address', false],
  ])('trusted proxies listed as %s include %s: %s', (entry, address, trusted) => {
    expect(createProxyTrust([entry])(address)).toBe(trusted);
  });

  it.each([
    ...['10.0.0.0/33', 'proxy.example', '10.0.0.0/x', '', '10.0.0.0/', '10.0.0.0/8/8'],
    ...['fd00::/129', 'fd00::/', '::1::2', '10.0.0.1:80'],
  ])('trusted proxies cannot be %j', (entry) => {
    expect(() => createProxyTrust([entry])).toThrow('is neither an address nor a network');
  });
});

describe('the address of a client behind proxies', () => {
  const trusts = createProxyTrust(['10.0.0.0/8']);
  it.each([
    ['203.0.113.9, 10.0.0.2', '203.0.113.9'],
    ['198.51.100.1, 203.0.113.9, 10.0.0.2', '203.0.113.9'],
    ['10.0.0.77, 10.0.0.2', '10.0.0.77'],
    ['10.0.0.77', '10.0.0.77'],
    ['unknown', '10.0.0.1'],
    ['', '10.0.0.1'],
  ])('a client that proxies report as %j has the address %s', (forwarded, address) => {
    expect(sourceAddress(requestFrom('10.0.0.1', { 'x-forwarded-for': forwarded }), trusts)).toBe(address);
  });
});

describe('loopback', () => {
  it.each([
    ['localhost', true],
    ['localhost:8080', true],
    ['127.0.0.1', true],
    ['127.9.9.9:80', true],
    ['::1', true],
    ['[::1]:8080', true],
    ['0.0.0.0', false],
    ['127.0.0.1.evil.example', false],
    ['maps.example:8080', false],
  ])('loopback includes %s: %s', (host, expected) => {
    expect(isLoopbackHost(host)).toBe(expected);
  });
});
