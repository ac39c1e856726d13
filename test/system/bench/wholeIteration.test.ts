/** `c3 bench iteration`: whole iterations that take turns with peers; peers that are missing, fail or are cancelled. */

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { z } from 'zod';
import type { IterationTask } from '../../../src/bench/iteration/steppedPeer.ts';
import { measureIterations } from '../../../src/bench/iteration/wholeIteration.ts';
import type { BenchReport } from '../../../src/bench/report.ts';
import { SHAPE } from '../../../src/bench/speed/shape.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import { leftBehind } from '../../support/leftBehind.ts';

/** A temporary folder of this file's own: others measure at the same time. */
const temporary = mkdtempSync(join(tmpdir(), 'c3-own-'));
for (const name of ['TMPDIR', 'TMP', 'TEMP']) {
  process.env[name] = temporary;
}
after(() => rmSync(temporary, { recursive: true, force: true }));

const TASK: IterationTask = {
  shape: { ...SHAPE, hiddenSize: 16, intermediateSize: 16, layers: 1, heads: 2, keyValueHeads: 2, headDim: 8 },
  threads: 1,
  prompts: [
    [3, 4, 5, 6],
    [7, 8, 9, 10],
  ],
  group: 3,
  new: 5,
  rows: 6,
  learningRate: 1e-3,
  klCoefficient: 0.01,
};

/** A program that represents Python; it writes its process number and its task beside itself. */
function python(name: string, body: string): string {
  const path = join(temporary, name);
  const note = `echo $$ >> '${path}.pid'\nprintf '%s %s' "$3" "$4" > '${path}.task'\n`;
  writeFileSync(path, `#!/bin/sh\n${note}${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const measured = (pythons: readonly string[], signal = new AbortController().signal): Promise<BenchReport> =>
  measureIterations(TASK, 2, { quick: true, signal, note: () => undefined }, { pythons, limit: 20_000 });

/** Nothing that was started goes on, and nothing was left. */
function assertEnded(path: string): void {
  for (const pid of readFileSync(`${path}.pid`, 'utf8').trim().split('\n')) {
    assert.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' });
  }
  assert.deepEqual(
    leftBehind(temporary).filter((name) => name.includes('bench')),
    [],
  );
}

it('iterations take turns with both peers, which get the same task', async () => {
  const turns = join(temporary, 'turns');
  const both = python(
    'both',
    `echo "{\\"name\\": \\"peer $3\\"}"\nwhile read -r line; do echo $3 >> '${turns}'; echo '{"done": true, "processor": 0.5}'; done`,
  );
  const { figures, peer, peerStatus, peerReason } = await measured([join(temporary, 'nowhere'), both]);
  assert.equal(peer, 'peer pytorch, peer trl');
  assert.deepEqual([peerStatus, peerReason], ['measured', null]);
  assert.deepEqual(
    figures.map(({ name }) => name),
    ['', ', processor time'].flatMap((what) => [
      `iteration of 2 x 3 completions of 4 + 5 tokens${what}`,
      `the same beside plain PyTorch${what}`,
      `the same beside TRL${what}`,
    ]),
  );
  assert.deepEqual([figures[4]?.peer, figures[5]?.peer], [0.5, 0.5]);
  for (const { value, peer: seconds, peerRatio } of figures.filter(({ name }) => name.startsWith('the same'))) {
    assert.ok(value !== null && seconds !== null && peerRatio !== null);
    assert.ok(value > 0 && Math.abs(peerRatio / (seconds / value) - 1) < 1e-3);
  }
  // One turn that does not count, then one after the other and back.
  assert.equal(readFileSync(turns, 'utf8').trim().split('\n').join(' '), 'pytorch trl trl pytorch pytorch trl');
  const [, task = ''] = /^trl (.*)$/su.exec(readFileSync(`${both}.task`, 'utf8')) ?? [];
  assert.deepEqual(z.looseObject({ prompts: z.unknown() }).parse(JSON.parse(task)).prompts, TASK.prompts);
  assertEnded(both);
});

it('without a peer the iterations are measured alone, and the reason is said', async () => {
  const bare = python('bare', `echo '{"missing": "torch"}'`);
  const { figures, peer, peerStatus, peerReason } = await measured([bare]);
  assert.deepEqual([peer, peerStatus], [null, 'not-installed']);
  assert.match(peerReason ?? '', /^plain PyTorch: .*bare has no module torch; TRL: .*bare has no module torch$/u);
  assert.ok((figures[0]?.value ?? 0) > 0);
  assert.deepEqual(
    figures.map(({ peerRatio }) => peerRatio),
    [null, null, null, null, null, null],
  );
});

it('a peer that ends in the middle is a failure of the measurement, not a figure', async () => {
  const broken = python(
    'broken',
    `echo '{"name": "peer"}'\nread -r line\necho '{"done": true, "processor": 0.5}'\nread -r line\nexit 3`,
  );
  await assert.rejects(
    measured([broken]),
    (error) => error instanceof C3Error && /^peer did not finish an iteration: .*exit code 3/u.test(error.message),
  );
  assertEnded(broken);
});

it('a cancel ends run and peers', async () => {
  const controller = new AbortController();
  const slow = python('slow', `echo '{"name": "peer"}'\nexec sleep 60`);
  const measuring = measureIterations(
    TASK,
    2,
    {
      quick: true,
      signal: controller.signal,
      note: (line) => {
        if (line === 'peer: peer') {
          setTimeout(() => controller.abort());
        }
      },
    },
    { pythons: [slow], limit: 20_000 },
  );
  await assert.rejects(measuring, CancelledError);
  assertEnded(slow);
});
