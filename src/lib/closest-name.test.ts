import { describe, expect, it } from 'vitest';
import { closestName } from './closest-name.ts';

describe('closestName', () => {
  const names = ['gridSets', 'layers', 'stores', 'server'];

  it('the closest name is the one behind a slip of the finger', () => {
    expect(closestName('gridsets', names)).toBe('gridSets');
    expect(closestName('layer', names)).toBe('layers');
    expect(closestName('sorver', names)).toBe('server');
    expect(closestName('prot', ['host', 'port'])).toBe('port');
  });

  it('the closest name is null when none is near', () => {
    expect(closestName('quota', names)).toBeNull();
    expect(closestName('x', [])).toBeNull();
  });
});
