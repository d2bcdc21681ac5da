import type { ChildProcess } from 'node:child_process';

export function started<Child extends ChildProcess>(child: Child): Promise<Child>;
