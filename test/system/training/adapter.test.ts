/** Runs that train an adapter: the same run loop over a frozen model. */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { answerEvaluator, type Evaluator } from '../../../src/evaluate/evaluator.ts';
import { ModelHost } from '../../../src/runtime/host.ts';
import { ADAPTER_MODULES } from '../../../src/runtime/model/transformer.ts';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import { C3Error } from '../../../src/shared/errors.ts';
import { getRunAdapter } from '../../../src/training/config/config.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { checkpointPath } from '../../../src/training/state/checkpoints.ts';
import { FAMILIES, folderOf } from '../../unit/golden.ts';
import { teamFolder, tinyWorld } from '../../unit/training/tinyRun.ts';
import { PAIR } from '../../unit/training/tinyTeam.ts';
import { failing } from '../../unit/training/watched.ts';

const OVERRIDES = [
  'steps=4',
  'checkpoint_every=2',
  'adapter.rank=4',
  'adapter.alpha=16',
  'adapter.target_modules=[q_proj, v_proj, down_proj]',
  'ppo.learning_rate=0.02',
  'evaluation.instances=0',
];

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

/** Random models know no answer; about half of their messages have an even length. */
const evenLength: Evaluator = {
  name: 'even-length',
  evaluate: (_, text) => Promise.resolve({ score: text.length % 2 === 0 ? 1 : 0, rule: 'even-length' }),
};
const TEAMS = [
  { name: 'the tiny team', folder: (): string => team.folder, evaluator: answerEvaluator },
  ...FAMILIES.map((family) => ({
    name: `the ${family} checkpoint`,
    folder: (): string => folderOf(family),
    evaluator: evenLength,
  })),
];

describe('a run that trains an adapter', () => {
  for (const { name, folder, evaluator } of TEAMS) {
    it(`${name}: begins at the base without divergence, moves off it, and leaves snapshots that load again`, async (t) => {
      const { start, store, base, snapshotFolder } = await tinyWorld(t, folder());
      await start({ overrides: OVERRIDES, evaluation: [], evaluator });
      const metrics = store.steps('run-1', 0, 10).map((step) => step.metrics ?? assert.fail());
      assert.equal(metrics.length, 4);
      assert.equal(metrics[0]?.kl, 0);
      for (const { kl, loss, gradientNorm, ratioDeviation } of metrics) {
        assert.equal(ratioDeviation, 0);
        assert.ok([kl, loss, gradientNorm].every(Number.isFinite) && gradientNorm > 0);
      }
      for (const { kl } of metrics.slice(1)) {
        assert.ok(kl > 1e-6 && kl < 10, String(kl));
      }
      const snapshots = store.snapshotsOfRun('run-1');
      assert.deepEqual(
        snapshots.map(({ iteration }) => iteration),
        [0, 1, 2, 3, 4],
      );
      assert.equal(snapshots[0]?.id, base);
      assert.equal(new Set(snapshots.map(({ id }) => id)).size, 5);
      const fresh = new ModelHost({ threads: 1 });
      t.after(() => fresh.close());
      await fresh.load(folder());
      for (const { id, file } of snapshots.slice(1)) {
        assert.equal(await fresh.loadSnapshot(file ?? ''), id);
        assert.ok(statSync(file ?? '').size < statSync(join(folder(), 'model.safetensors')).size / 2);
      }
      assert.equal(await fresh.loadCheckpoint(checkpointPath(snapshotFolder, 'run-1', 2)), snapshots[2]?.id);
    });
  }

  it('each role with its own adapter: both move off the base, apart', async (t) => {
    const { start, store, base } = await tinyWorld(t, team.folder);
    await start({ overrides: [...OVERRIDES, 'adapter.per=role'], evaluation: [] });
    const metrics = store.steps('run-1', 0, 10).map((step) => step.metrics ?? assert.fail());
    assert.equal(metrics[0]?.kl, 0);
    for (const { kl, ratioDeviation } of metrics) {
      assert.deepEqual([Number.isFinite(kl), ratioDeviation], [true, 0]);
    }
    const last = store.snapshotsOfRun('run-1').at(-1) ?? assert.fail();
    const host = new ModelHost({ threads: 1 });
    t.after(() => host.close());
    await host.load(team.folder);
    assert.equal(await host.loadSnapshot(last.file ?? ''), last.id);
    const context: TrainingContext = {
      prompt: Int32Array.of(1, 2, 3),
      messages: [
        {
          tokens: Int32Array.of(4, 5),
          behaviour: new Float32Array(2),
          reference: new Float32Array(2),
          advantages: new Float32Array(2),
        },
      ],
    };
    const scores = await Promise.all(
      PAIR.roles.map(({ name }) => host.score(last.id, [{ ...context, role: name }], 1, new AbortController().signal)),
    );
    const [alone] = [await host.score(base, [context], 1, new AbortController().signal)];
    assert.equal(new Set([...scores, alone].map((one) => one.flat().join())).size, 3);
  });

  for (const at of [1, 2, 4]) {
    it(`continues to the same weights where step ${at} broke`, async (t) => {
      const [whole, broken] = [await tinyWorld(t, team.folder), await tinyWorld(t, team.folder)];
      await whole.start({ overrides: OVERRIDES, evaluation: [] });
      await assert.rejects(
        broken.start({ overrides: OVERRIDES, evaluation: [], wrap: failing('step', at) }),
        /It broke/,
      );
      await broken.resume({ overrides: OVERRIDES, evaluation: [] });
      const names = ({ store }: typeof whole): string[] => store.snapshotsOfRun('run-1').map(({ id }) => id);
      assert.deepEqual(names(broken), names(whole));
    });
  }
});

describe('the key `adapter`', () => {
  const read = (text: string): ReturnType<typeof getRunAdapter> =>
    getRunAdapter(readConfig(text, 'mine.c3.yaml'), PAIR);
  const refuses = (text: string, pattern: RegExp): void =>
    assert.throws(
      () => read(text),
      (error) => error instanceof C3Error && error.kind === 'input' && pattern.test(error.message),
    );

  it('is null unless given, and has defaults for what it leaves out', () => {
    assert.equal(read(''), undefined);
    assert.equal(read('adapter: null\n'), undefined);
    assert.deepEqual(read('seed: 3\nadapter: {}\n'), {
      settings: { rank: 16, alpha: 32, targetModules: ADAPTER_MODULES },
      seed: 3,
    });
    assert.deepEqual(read('adapter: {rank: 2, alpha: 0.5, target_modules: [o_proj]}\n'), {
      settings: { rank: 2, alpha: 0.5, targetModules: ['o_proj'] },
      seed: 0,
    });
  });

  it('refuses what it cannot be, by key and line', () => {
    refuses('seed: 1\nadapter:\n  rnk: 4\n', /^mine\.c3\.yaml, line 3: adapter\.rnk: unknown key; did you mean rank\?/);
    refuses('adapter:\n  rank: 0\n', /line 2: adapter\.rank:/);
    refuses('adapter:\n  alpha: -1\n', /line 2: adapter\.alpha:/);
    refuses('adapter:\n  target_modules: [q_proj, lm_head]\n', /line 2: adapter\.target_modules\[1\]: .*q_proj/);
    refuses('adapter:\n  target_modules: []\n', /line 2: adapter\.target_modules:/);
  });
});
