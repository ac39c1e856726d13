/** `c3 bench`: names of suites, the report as text, turns, and what the suites measure of a tiny team. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { makeFigure, type TeamBenchOptions } from '../../../src/bench/report.ts';
import { benchIteration } from '../../../src/bench/speed/iteration.ts';
import { benchReplay, countRequestTokens } from '../../../src/bench/speed/replay.ts';
import { makeGenerationRequests, SHAPE, STEP, makeTrainingRows } from '../../../src/bench/speed/shape.ts';
import { runSuite, type SuiteOptions } from '../../../src/bench/suites.ts';
import { formatReport } from '../../../src/bench/table.ts';
import { measureMedianSeconds } from '../../../src/bench/turns.ts';
import { readRecipe } from '../../../src/engine/recipe/recipe.ts';
import { EngineService } from '../../../src/engine/service.ts';
import { Generator } from '../../../src/runtime/generate/generate.ts';
import { initialParameters } from '../../../src/runtime/model/model.ts';
import { C3Error, CancelledError } from '../../../src/shared/errors.ts';
import { makeSignalAbortedWhen } from '../../support/signals.ts';
import { contentsOf, makeWorkspace } from '../../unit/engine/workspace.ts';
import { leftovers, named } from './measured.ts';

let folder = '';
before(async () => {
  folder = await makeWorkspace();
});

const options = (changes: Partial<TeamBenchOptions> = {}): TeamBenchOptions => ({
  quick: true,
  config: 'tiny.c3.yaml',
  folder,
  signal: new AbortController().signal,
  note: () => undefined,
  ...changes,
});

describe('suites', () => {
  it('that are unknown name the nearest', async () => {
    const refused = (name: string | undefined, says: RegExp, changes: Partial<SuiteOptions> = {}): Promise<void> =>
      assert.rejects(
        runSuite(name, options({ config: null, ...changes })),
        (error) => error instanceof C3Error && error.kind === 'input' && says.test(error.message),
      );
    await refused('generatoin', /has no suite "generatoin"; did you mean generation\?/);
    await refused(
      'constructor',
      /there are first-run, generation, .*blame, named-messages, activation, paper-table, rho-map, team-drift\./,
    );
    await refused(undefined, /c3 bench needs a suite; there are first-run/);
    await refused('store', /c3 bench store measures no team; leave out --config/, { config: 'tiny.c3.yaml' });
    await refused('store', /c3 bench store keeps no files; leave out --out/, { out: 'folder' });
    await refused('rho-map', /c3 bench rho-map goes on from no file; leave out --continue/, { from: 'runs.jsonl' });
    await refused('train', /Cannot read .*none\.yaml/, { config: 'none.yaml' });
  });
});

describe('a report as text', () => {
  it('is an aligned table that says what was not measured', () => {
    const figures = [
      makeFigure('a', 12345.678, 'tokens/s', { ceiling: 20000, ratio: 0.61728 }),
      makeFigure('a longer name', null, 'ms'),
      makeFigure('step', 0.0123, 's', { peer: 0.04, peerRatio: 3.2 }),
    ];
    assert.equal(
      formatReport({
        suite: 'train',
        figures,
        hardware: 'a machine',
        peer: null,
        peerStatus: 'not-installed',
        peerReason: 'no Python on PATH',
      }),
      [
        'train on a machine',
        'peer not installed: no Python on PATH',
        '',
        'figure                value  unit      ceiling  ratio  peer  times peer',
        'a                    12,346  tokens/s   20,000   0.62     -           -',
        'a longer name  not measured  ms              -      -     -           -',
        'step                  0.012  s               -      -  0.04        3.20',
      ].join('\n'),
    );
    assert.match(
      formatReport({ suite: 'x', figures: [], hardware: 'y', peer: 'PyTorch 0', peerStatus: 'measured' }),
      /^x on y\npeer: PyTorch 0\n/,
    );
    assert.doesNotMatch(formatReport({ suite: 'x', figures: [], hardware: 'y' }), /peer[: ]+(not|P)/);
    const failed = formatReport({
      suite: 'x',
      figures: [],
      hardware: 'y',
      peer: null,
      peerStatus: 'failed',
      peerReason: 'python3 failed: no memory',
    });
    assert.match(failed, /^x on y\nthe peer is installed and failed: python3 failed: no memory\n/);
  });
});

describe('turns', () => {
  it('alternate, and the first does not count', async () => {
    const order: string[] = [];
    const side = (name: string) => (): Promise<void> => {
      order.push(name);
      return Promise.resolve();
    };
    const seconds = await measureMedianSeconds({ a: side('a'), b: side('b') }, 2, options());
    assert.deepEqual(order, ['a', 'b', 'b', 'a', 'a', 'b']);
    assert.ok(seconds.a >= 0 && seconds.b >= 0);
  });

  it('end with a cancel', async () => {
    let done = 0;
    const work = (): Promise<void> => {
      done++;
      return Promise.resolve();
    };
    await assert.rejects(
      measureMedianSeconds({ work }, 5, options({ signal: makeSignalAbortedWhen(() => done === 2) })),
      CancelledError,
    );
    assert.equal(done, 2);
  });
});

describe('what is measured', () => {
  it('asks for as many different prompts as it says, and nothing ends early', async () => {
    const config = { ...SHAPE, hiddenSize: 16, intermediateSize: 16, layers: 1, headDim: 4 };
    const requests = makeGenerationRequests(config, { prompts: 600, completions: 2, promptLength: 8, newTokens: 3 });
    assert.equal(new Set(requests.map(({ prompt }) => prompt.join())).size, 600);
    assert.equal(new Set(requests.map(({ streamKey }) => streamKey)).size, 1200);
    const generator = await Generator.create(config, { threads: 1 });
    const shared = makeGenerationRequests(config, { prompts: 1, completions: 32, promptLength: 8, newTokens: 3 });
    const completions = await generator.generate(initialParameters(config, 1), shared, {
      signal: new AbortController().signal,
    });
    await generator.release();
    assert.ok(completions.every(({ tokens }) => tokens.length === 3));
    assert.equal(
      completions.reduce((sum, { reusedTokens }) => sum + reusedTokens, 0),
      31 * 8,
    );
    assert.deepEqual(
      [makeTrainingRows(SHAPE).length, makeTrainingRows(SHAPE)[0]?.messages[0]?.tokens.length],
      [STEP.rows, STEP.length],
    );
  });

  it('of whole iterations is their rate against generation and training alone, padding and memory', async () => {
    const before = [contentsOf(folder), leftovers()];
    const figures = await benchIteration(options());
    const { value, ceiling, ratio, unit } = named(figures, 'C3 iteration, sampled tokens');
    assert.ok(value !== null && value > 0 && ceiling !== null && ceiling > 0 && ratio !== null && unit === 'tokens/s');
    assert.ok(Math.abs(ratio - value / ceiling) < 1e-3 * ratio);
    const { value: padding } = named(figures, 'padding of packed batches');
    assert.ok(padding !== null && padding >= 0 && padding < 100);
    assert.ok((named(figures, 'largest resident set').value ?? 0) > 20);
    assert.deepEqual([contentsOf(folder), leftovers()], before);
  });

  it('of a request is the cost of the messages that it made, no other', async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'c3-cost-'));
    const service = new EngineService(join(home, 'c3.sqlite'));
    t.after(async () => {
      await service.close();
      rmSync(home, { recursive: true, force: true });
    });
    const control = { signal: new AbortController().signal, onProgress: () => undefined };
    await service.run(await readRecipe('tiny.c3.yaml', ['steps=1', 'evaluation.instances=0'], folder), control);
    for (const message of [1, 2]) {
      const before = service.reading((store) => store.counts().messages);
      const { id } = await service.replay({ message, alternatives: 3, replays: 2, text: null }, control);
      service.reading((store) => {
        // What was taken from an equal request had no prompt to compute.
        const added = Array.from({ length: store.counts().messages - before }, (_, index) =>
          store.fullMessage(before + 1 + index),
        ).filter((one) => one.reusedTokens <= one.promptTokens);
        const total = (part: 'promptTokens' | 'reusedTokens'): number =>
          added.reduce((sum, said) => sum + said[part], 0);
        assert.ok(added.length >= 3);
        assert.deepEqual(countRequestTokens(store, id), {
          prompt: total('promptTokens'),
          reused: total('reusedTokens'),
        });
      });
    }
  });

  it('leaves nothing behind when it is cancelled', async () => {
    const before = leftovers();
    let asked = 0;
    await assert.rejects(benchReplay(options({ signal: makeSignalAbortedWhen(() => ++asked > 3) })), CancelledError);
    await assert.rejects(benchIteration(options({ signal: AbortSignal.abort() })), CancelledError);
    assert.deepEqual(leftovers(), before);
  });
});
