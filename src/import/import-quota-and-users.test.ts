import { describe, expect, it } from 'vitest';
import { readXml } from '../lib/xml/read-xml.ts';
import { importQuota, importUsers } from './import-quota-and-users.ts';
import { ImportReport } from './import-report.ts';

describe('files beside geowebcache.xml', () => {
  it('the disk quota of GeoWebCache becomes a body of the API', () => {
    const report = new ImportReport();
    const xml = `<gwcQuotaConfiguration><enabled>true</enabled><cacheCleanUpFrequency>10</cacheCleanUpFrequency>
      <cacheCleanUpUnits>SECONDS</cacheCleanUpUnits><maxConcurrentCleanUps>2</maxConcurrentCleanUps>
      <globalExpirationPolicyName>LFU</globalExpirationPolicyName><globalQuota><value>5</value><units>GiB</units></globalQuota>
      <layerQuotas><LayerQuota><layer>a</layer><expirationPolicyName>LRU</expirationPolicyName>
      <quota><value>1.5</value><units>MiB</units></quota></LayerQuota></layerQuotas><quotaStore>H2</quotaStore><x_quota>1</x_quota></gwcQuotaConfiguration>`;
    expect(importQuota(readXml(xml), report)).toEqual({
      enabled: true,
      cacheCleanUpFrequency: 10,
      cacheCleanUpUnits: 'SECONDS',
      maxConcurrentCleanUps: 2,
      globalExpirationPolicyName: 'LFU',
      globalQuota: { value: 5, units: 'GiB' },
      layerQuotas: [{ layer: 'a', expirationPolicyName: 'LRU', quota: { value: 1.5, units: 'MiB' } }],
    });
    const left = report.entries.filter(({ fate }) => fate === 'left out').map(({ element }) => element);
    expect(left).toEqual(['quotaStore', 'x_quota']);
  });

  it('users of GeoWebCache have the names that Java reads', () => {
    const text = String.raw`jos\u00e9=x,ROLE_USER
a\ b\:c : y , ROLE_ADMINISTRATOR
long=\
  x,ROLE_ADMINISTRATOR
`;
    expect(importUsers(text, new ImportReport())).toEqual([
      { name: 'josé', role: 'viewer' },
      { name: 'a b:c', role: 'admin' },
      { name: 'long', role: 'admin' },
    ]);
  });

  it('users of GeoWebCache are imported without their passwords', () => {
    const report = new ImportReport();
    const text =
      '# users\ngeowebcache=secured,ROLE_ADMINISTRATOR\nanna = pw , ROLE_USER,enabled\nold=x,ROLE_USER,disabled\n';
    expect(importUsers(text, report)).toEqual([
      { name: 'geowebcache', role: 'admin' },
      { name: 'anna', role: 'viewer' },
    ]);
    expect(JSON.stringify(report.entries)).not.toContain('secured');
  });
});
