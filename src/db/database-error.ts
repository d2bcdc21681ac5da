import { OutOfReach } from '../lib/out-of-reach.ts';

export class DatabaseError extends OutOfReach {
  readonly code: 'database-ahead' | 'database-busy' | 'database-unreachable';

  constructor(code: DatabaseError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseError';
    this.code = code;
  }
}
