import { describe, expect, it } from 'vitest';
import { closestName } from './closest-name.ts';

describe('closestName', () => {
  const names = ['gridSets', 'layers', 'stores', 'server'];

  it('finds the name behind a slip of the finger', () => {
    expect(closestName('gridsets', names)).toBe('gridSets');
    expect(closestName('layer', names)).toBe('layers');
    expect(closestName('sorver', names)).toBe('server');
    expect(closestName('prot', ['host', 'port'])).toBe('port');
  });

  it('says nothing when no name is near', () => {
    expect(closestName('quota', names)).toBeNull();
    expect(closestName('x', [])).toBeNull();
  });
});
