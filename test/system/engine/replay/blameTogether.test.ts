/** `c3 blame --run` of a run that lost enough episodes to read them together. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import type { BlameVerdict } from '../../../../src/domain/answer.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { c3, parseLine } from '../../../unit/engine/workspace.ts';

const CONFIG = `title: Enough
steps: 1
instances_per_step: 1
fanout: [2, 2]
evaluator_budget: 4
evaluation: { instances: 46, before: false }
device: { threads: 1 }
`;
const LOST_AT_LEAST = 20;

const found = z.looseObject({
  run: z.string(),
  lost: z.int(),
  read: z.int(),
  decided: z.int(),
  several: z.int(),
  undecided: z.int(),
  rarelySolved: z.int(),
  cases: z.array(z.looseObject({ sentence: z.string(), drop: z.number() })),
  evaluatorCalls: z.int(),
});

describe('many lost episodes', () => {
  it('are decided by 32 calls each, most of them, and the others where the same is asked again', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'c3-together-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'enough.c3.yaml'), CONFIG);
    const trained = await c3(folder, ['run', 'enough.c3.yaml', '--json']);
    assert.equal(trained.code, 0, trained.stderr);
    const blame = async (budget: number): Promise<z.infer<typeof found>> => {
      const { code, stdout, stderr } = await c3(folder, ['blame', '--budget', String(budget), '--json']);
      assert.equal(code, 0, stderr);
      return found.parse(parseLine(stdout));
    };
    const { lost } = await blame(3);
    assert.ok(lost >= LOST_AT_LEAST, String(lost));
    const first = await blame(32 * lost);
    assert.deepEqual([first.read, first.decided + first.several + first.rarelySolved + first.undecided], [lost, lost]);
    assert.ok(first.undecided <= 0.5 * lost, `${first.undecided} of ${lost}`);
    assert.ok(first.evaluatorCalls <= 32 * lost);
    assert.ok(
      first.cases.every(({ sentence }) => sentence.endsWith("Read together with the run's other lost episodes.")),
    );
    assert.ok(first.cases.every(({ drop }) => drop < 0));
    // What is still undecided is searched further.
    const again = await blame(32 * lost);
    assert.ok(again.undecided <= first.undecided, `${again.undecided} after ${first.undecided}`);
    // The list of episodes says the same of each.
    const service = new EngineService(join(folder, '.c3', 'c3.sqlite'));
    try {
      const rows = await service.lostProblems(first.run);
      const count = (verdict: BlameVerdict): number => rows.filter((row) => row.verdict === verdict).length;
      assert.deepEqual([count('message'), count('rare'), rows.length], [again.decided, again.rarelySolved, lost]);
    } finally {
      await service.close();
    }
  });
});
