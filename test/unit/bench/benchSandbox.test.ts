/** The load of the sandbox: which programs there are, and that what they did is counted. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Bait } from '../../../src/bench/sandbox/hostile.ts';
import { makeLoadPrograms, type LoadProgram } from '../../../src/bench/sandbox/programs.ts';
import { makeLoadReport, type Graded } from '../../../src/bench/sandbox/sandboxLoad.ts';

const BAIT: Bait = { folder: '/bait', file: '/bait/secret.txt', secret: 'the secret', port: 4321 };

describe('programs for the sandbox', () => {
  const programs = makeLoadPrograms(1000, BAIT);

  it('are a thousand different ones, a third of them hostile, and the same each time', () => {
    assert.equal(programs.length, 1000);
    assert.equal(new Set(programs.map(({ code }) => code)).size, 1000);
    assert.equal(programs.filter(({ kind }) => kind === 'right').length, 450);
    assert.equal(programs.filter(({ kind }) => kind === 'wrong').length, 200);
    assert.deepEqual(makeLoadPrograms(1000, BAIT), programs);
  });

  it('are mixed: every hundred in a row hold honest and hostile ones', () => {
    for (let from = 0; from < 1000; from += 100) {
      const kinds = new Set(programs.slice(from, from + 100).map(({ kind }) => kind));
      assert.ok(kinds.has('right') && kinds.has('wrong') && kinds.size > 5, [...kinds].join());
    }
  });

  it('deserve 1 for the right function and for nothing else', () => {
    for (const { kind, deserves, tests } of programs) {
      assert.equal(deserves, kind === 'right' ? 1 : 0);
      assert.ok(tests.tests.length > 0);
    }
  });

  it('that look for the secret are expected to say it, and never hold it themselves', () => {
    const seeking = programs.filter(({ tests }) => tests.tests.some((test) => test.includes(BAIT.secret)));
    assert.ok(seeking.length > 40, String(seeking.length));
    assert.deepEqual(
      seeking.filter(({ code, deserves }) => code.includes(BAIT.secret) || deserves === 1),
      [],
    );
  });
});

describe('the report of a load', () => {
  const graded = (kind: LoadProgram['kind'], deserves: 0 | 1, score: number | null): Graded => ({
    program: { kind, deserves, code: '', tests: { tests: [], test: '', entryPoint: null, setup: '' } },
    verdict: { score, rule: kind === 'loop' ? 'time-limit' : 'passed', detail: '' },
    seconds: 0.25,
  });
  const value = (all: readonly Graded[], name: string, connections = 0, files = 0): number | null | undefined =>
    makeLoadReport(all, { connections, files }, { clock: 2, processor: 0.5 }).figures.find((one) => one.name === name)
      ?.value;
  const well = [graded('right', 1, 1), graded('wrong', 0, 0), graded('loop', 0, 0), graded('file', 0, 0)];

  it('counts programs by the second, and none scored wrongly where each has what it deserves', () => {
    assert.equal(value(well, 'programs'), 2);
    // Four programs in half a second of the processor, two cores.
    assert.equal(value(well, 'programs, by processor time on free cores'), 16);
    assert.equal(value(well, 'of them hostile'), 2);
    assert.equal(value(well, 'scored wrongly'), 0);
    assert.equal(value(well, 'escaped'), 0);
    assert.equal(value(well, 'stopped at 1 s of processor time'), 1);
    assert.equal(value(well, 'one honest program, median'), 250);
  });

  it('says nothing of processor time where the system does not', () => {
    const { figures } = makeLoadReport(well, { connections: 0, files: 0 }, { clock: 2, processor: null });
    assert.equal(figures.find(({ name }) => name.startsWith('programs, by processor time'))?.value, null);
  });

  it('counts an honest program without a score, and a wrong one that passes, as scored wrongly', () => {
    const badly = [graded('right', 1, null), graded('right', 1, 0), graded('wrong', 0, 1), ...well];
    assert.equal(value(badly, 'scored wrongly'), 3);
    assert.equal(value(badly, 'escaped'), 0);
  });

  it('counts connections, changed files and hostile programs that pass as escaped', () => {
    assert.equal(value(well, 'escaped', 2, 1), 3);
    assert.equal(value([graded('network', 0, 1), ...well], 'escaped'), 1);
  });
});
