/**
 * Examines a store in a process of its own, so that damage that makes the examination endless or
 * crashes it has no further effect.
 */

import { fork } from 'node:child_process';
import {
  isStoreExamination,
  type ExaminedExtent,
  type StoreExamination,
} from '../shared/protocols/storeExamination.ts';
import { engineEnvironment } from './environment.ts';

const SECOND = 1000;

/**
 * Examines the existing store at `path`. If the process does not end in time, that is a finding.
 * @param extent of the examination
 * @param entry the program of the process
 * @param limit milliseconds
 */
export function examineApart(
  path: string,
  extent: ExaminedExtent,
  entry: URL | string,
  limit: number,
): Promise<StoreExamination> {
  return new Promise((resolve) => {
    const fail = (finding: string): void =>
      resolve({ findings: [finding], extent: 'Its examination did not finish.', refusal: null, counts: null });
    const child = fork(entry, [path, extent], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
      env: engineEnvironment(process.env),
      timeout: limit,
      killSignal: 'SIGKILL',
    });
    child.on('message', (message) => {
      if (isStoreExamination(message)) {
        resolve(message);
      }
      child.disconnect();
    });
    child.on('error', (error) => fail(`The examination of the store did not start: ${error.message}.`));
    child.on('exit', (code, signal) => {
      fail(
        signal === 'SIGKILL'
          ? `The examination of the store did not end within ${limit / SECOND} seconds: damage can keep it from ending.`
          : `The examination of the store ended with ${signal ?? `code ${String(code)}`}.`,
      );
    });
  });
}
