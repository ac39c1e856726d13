/** Examines a store in a process of its own: damage that makes a look at it endless, or crashes it, takes nothing with it. */
import { fork } from 'node:child_process';
import { z } from 'zod';
import type { StoreExamination } from '../store/examine.ts';
import { EXAMINE_ENTRY } from './places.ts';

const TIME_LIMIT = 600_000;

const count = z.int().nonnegative();
const schema = z.object({
  findings: z.array(z.string()),
  extent: z.string(),
  refusal: z.string().nullable(),
  counts: z.object({ runs: count, instances: count, decisions: count, episodes: count, buckets: count, replays: count, texts: count }).nullable(),
});

/** Examines the store at `path`, which is there. @param all computes the hash of every row @param limit milliseconds @param entry another program in its place; for tests */
export function examineApart(path: string, all: boolean, limit = TIME_LIMIT, entry: URL = EXAMINE_ENTRY): Promise<StoreExamination> {
  return new Promise((resolve) => {
    const fail = (finding: string): void => { resolve({ findings: [finding], extent: 'It was not examined to the end.', refusal: null, counts: null }); };
    const child = fork(entry, [path, all ? 'all' : 'sampled'], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'], execArgv: [], timeout: limit, killSignal: 'SIGKILL' });
    child.on('message', (message) => {
      const found = schema.safeParse(message);
      if (found.success) resolve(found.data);
      child.disconnect();
    });
    child.on('error', (error) => { fail(`The examination of the store did not start: ${error.message}.`); });
    child.on('exit', (code, signal) => {
      fail(signal === 'SIGKILL' ? `The examination of the store did not end within ${String(limit / 1000)} seconds: damage can make it endless.` : `The examination of the store ended with ${signal ?? `code ${String(code)}`}.`);
    });
  });
}
