/** Lists child processes. Only Linux has any. A process may end while it is read. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Process {
  readonly pid: number;
  readonly line: string;
}

const reading = <Result>(work: () => Result, otherwise: Result): Result => {
  try {
    return work();
  } catch {
    // The process has just ended.
    return otherwise;
  }
};

/** Returns the living descendants of a process, each after its parent. */
export function below(pid: number): readonly Process[] {
  const threads = reading(() => readdirSync(`/proc/${pid}/task`), []);
  const children = threads.flatMap((thread) =>
    reading(
      () =>
        readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number),
      [],
    ),
  );
  return children.flatMap((child) => [
    { pid: child, line: reading(() => readFileSync(`/proc/${child}/cmdline`, 'latin1').replaceAll('\0', ' '), '') },
    ...below(child),
  ]);
}
