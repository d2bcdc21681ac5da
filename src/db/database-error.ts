export class DatabaseError extends Error {
  readonly code: 'database-ahead' | 'database-busy' | 'database-unreachable';

  constructor(code: DatabaseError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DatabaseError';
    this.code = code;
  }
}
