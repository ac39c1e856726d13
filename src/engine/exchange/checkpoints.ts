/**
 * LangGraph's checkpoints as JSON, read in a process of its own: damage that makes a look at the database endless, or
 * crashes it, takes nothing with it.
 */
import { fork } from 'node:child_process';
import { engineEnvironment } from '../../client/environment.ts';
import type { LeftOutCounts } from '../../logs/episode.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import { CHECKPOINTS_ENTRY } from '../places.ts';

const SECOND = 1000;
const LIMIT = 600 * SECOND;
/** Megabytes. A checkpoint has at most 64 MB. */
const HEAP = '--max-old-space-size=1024';

/**
 * Writes a line of JSON for each thread into a new file.
 * @returns what was left out, by the reason
 * @throws C3Error('input') for a file that is none of the saver's, is damaged, or takes too long; CancelledError
 */
export function checkpointsAsJson(path: string, out: string, signal: AbortSignal): Promise<LeftOutCounts> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new C3Error('input', `Cannot read ${path} as a database of LangGraph checkpoints: ${why}.`));
    const child = fork(CHECKPOINTS_ENTRY, [path, out], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [HEAP],
      env: engineEnvironment(process.env),
      timeout: LIMIT,
      killSignal: 'SIGKILL',
    });
    const cancel = (): void => {
      child.kill('SIGKILL');
      reject(new CancelledError());
    };
    signal.addEventListener('abort', cancel, { once: true });
    child.on('message', (said) => {
      if (isRecord(said) && isRecord(said['leftOut'])) {
        resolve(Object.entries(said['leftOut']).map(([reason, count]) => [reason, Number(count)] as const));
      } else {
        fail(isRecord(said) ? String(said['error']).replace(/\.$/u, '') : 'it gave no answer');
      }
      child.disconnect();
    });
    child.on('error', (error) => fail(`its reader did not start: ${error.message}`));
    child.on('exit', (code, name) => {
      signal.removeEventListener('abort', cancel);
      fail(
        name === 'SIGKILL'
          ? `its reader did not end within ${LIMIT / SECOND} seconds: damage can keep it from ending`
          : `its reader ended with ${name ?? `code ${String(code)}`}`,
      );
    });
    if (signal.aborted) {
      cancel();
    }
  });
}
