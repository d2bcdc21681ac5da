/** A command cannot do what it was asked; the message is all that the user is told. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
  }
}

/** What was asked makes no sense, whatever the server says. */
export function misuse(message: string): CommandFailure {
  return new CommandFailure(message, 2);
}
