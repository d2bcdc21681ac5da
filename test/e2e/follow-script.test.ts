import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { started } from '../../scripts/steps.mjs';
import { openMockGeoServer } from '../fixtures/mock-geoserver.ts';
import { whenOver } from '../fixtures/when-over.ts';

describe('scripts/test-geoserver.mjs', () => {
  it('marks of a GeoServer are checked in a workspace that is removed', async () => {
    const script = fileURLToPath(new URL('../../scripts/test-geoserver.mjs', import.meta.url));
    const stand = await openMockGeoServer();
    whenOver(() => stand.close());
    const run = await started(
      spawn(process.execPath, [script, `${stand.url}/`], { stdio: ['ignore', 'ignore', 'pipe'] }),
    );
    const [output, [code]] = await Promise.all([text(run.stderr), once(run, 'exit')]);
    expect(output).toMatch(/another opacity: marked \w+:edited, \w+:both\n/);
    expect(output).toContain('All as it should be.');
    expect([code, stand.layers.size, stand.styles.size]).toEqual([0, 0, 0]);
  });
});
