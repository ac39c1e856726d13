/** Lists child processes. Only Linux has any. A process may end while it is read. */

import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly line: string;
}

const readOrElse = <Result>(work: () => Result, otherwise: Result): Result => {
  try {
    return work();
  } catch {
    // The process has just ended.
    return otherwise;
  }
};

/** Returns the living descendants of a process, each after its parent. */
export function listProcessesBelow(pid: number): readonly Process[] {
  const threads = readOrElse(() => readdirSync(`/proc/${pid}/task`), []);
  const children = threads.flatMap((thread) =>
    readOrElse(
      () =>
        readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number),
      [],
    ),
  );
  return children.flatMap((child) => [
    { pid: child, line: readOrElse(() => readFileSync(`/proc/${child}/cmdline`, 'latin1').replaceAll('\0', ' '), '') },
    ...listProcessesBelow(child),
  ]);
}
