/** Every cheat on every backend, processes that are left behind, and values that are too large. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isAlive } from '../../../../../src/files/processes.ts';
import { listProcessesBelow } from '../../../../support/processes.ts';
import { triedCheats } from '../../../../system/evaluate/python/triedCheats.ts';
import { CHEATS, SQUARES } from '../../../../unit/evaluate/python/cheats.ts';
import { BACKENDS, grader } from '../../../../unit/evaluate/python/support.ts';

const alive = (pid: number): boolean => isAlive({ pid, processStart: null });

triedCheats(Object.keys(CHEATS), BACKENDS);

describe('a grader that is closed', () => {
  for (const backend of BACKENDS) {
    it(`keeps no process alive (${backend})`, async () => {
      const other = grader({ backend, lanes: 1, limits: { seconds: 1 } });
      await other.grade('while True: pass', SQUARES);
      // The watching process ends with this one, whatever graders do.
      const started = listProcessesBelow(process.pid)
        .filter(({ line }) => !line.includes(' c3-watch '))
        .map(({ pid }) => pid);
      assert.ok(started.length > 0 || process.platform !== 'linux');
      other.close();
      for (let wait = 0; started.some(alive) && wait < 2400; wait++) {
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
      assert.deepEqual(started.filter(alive), []);
    });
  }
});

describe('a candidate', () => {
  for (const backend of BACKENDS) {
    it(`fails one test by a giant text beside what has no form, not those after it (${backend})`, async () => {
      const some = grader({ backend, lanes: 1, passRule: 'fraction' });
      try {
        const code = 'made = []\nmade.append(made)\ndef f(x): return ["x" * 5 * 10**6, made] if x == 2 else x * x';
        const { rule, passed, detail } = await some.grade(code, SQUARES);
        assert.deepEqual([rule, passed, detail], ['partly', 2, 'test 1: a value nested more than 100 deep']);
      } finally {
        some.close();
      }
    });
  }
});
