/** Stage 0 of a replacement: a fresh role learns to say what another one says, and training goes on from adapters. */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { ModelHost } from '../../../src/runtime/host.ts';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import { alignPolicy, HELD_OUT } from '../../../src/training/align.ts';
import { teamFolder } from '../../unit/training/tinyRun.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

const { signal } = new AbortController();
const START = {
  settings: { rank: 4, alpha: 8, targetModules: ['q_proj', 'v_proj', 'up_proj'] },
  seed: 1,
  roles: ['old', 'other'],
} as const;
const STEP = { loss: 'supervised', learningRate: 0.02, temperature: 1, klCoefficient: 0 } as const;

it('brings the KL of a fresh role below the bound, and leaves the others as they are', async () => {
  const host = new ModelHost({ threads: 1 });
  try {
    const { snapshot: base } = await host.load(team.folder);
    const context = (role: string, index: number): TrainingContext => {
      const tokens = Int32Array.of(5 + (index % 7), 9, 2);
      const unused = new Float32Array(tokens.length);
      return {
        role,
        prompt: Int32Array.of(3, 4 + (index % 11), 6),
        messages: [{ tokens, behaviour: unused, reference: unused, advantages: unused }],
      };
    };
    // Both roles are trained away from the model.
    await host.beginTraining(base, START);
    for (let step = 0; step < 3; step++) {
      const shown = ['old', 'other'].flatMap((role) => [0, 1, 2, 3].map((index) => context(role, index)));
      await host.step(shown, STEP, signal);
    }
    const trained = await host.freeze();
    const asked = Array.from({ length: 40 }, (_, index) => ({
      role: 'old',
      prompt: Int32Array.of(3, 4 + (index % 11), 6),
      maxNewTokens: 3,
      endToken: 2,
      streamKey: index.toString(16).padStart(32, '0'),
      temperature: 1,
      topP: 1,
      topK: 0,
    }));
    const said = await host.generate(trained, asked, { signal });
    const probes = said.map(({ tokens, logprobs }, index) => ({
      role: 'old',
      prompt: asked[index]?.prompt ?? new Int32Array(),
      messages: [{ tokens, behaviour: logprobs, reference: logprobs, advantages: new Float32Array(tokens.length) }],
    }));

    // Going on from a snapshot with adapters begins with them, to the bit.
    await host.beginTraining(trained, START);
    assert.equal(await host.freeze(), trained);
    const same = await alignPolicy(
      host,
      probes,
      { old: trained, temperature: 1, delta: 1e-6, learningRate: 0.01, maxSteps: 5 },
      signal,
    );
    assert.deepEqual([same.snapshot, same.kls.length, same.met], [trained, 1, true]);
    await assert.rejects(
      host.beginTraining(trained, { ...START, settings: { ...START.settings, rank: 8 } }),
      /adapters of another rank/u,
    );
    await assert.rejects(host.beginTraining(trained), /has adapters/u);

    // The team without its old role: a fresh one is the model itself.
    const others = [context('other', 1)];
    const before = await host.score(trained, others, 1, signal);
    for (const old of [null, trained]) {
      await host.beginTraining(base, START);
      const settings = { old, temperature: 1, delta: 0.02, learningRate: 0.01, maxSteps: 60 };
      const { snapshot, kls, met } = await alignPolicy(host, probes, settings, signal);
      assert.ok((kls[0] ?? 0) > 0.1, String(kls[0]));
      assert.ok(met && kls.length > 2, kls.map((kl) => kl.toFixed(3)).join(' '));
      assert.notDeepEqual(before, await host.score(snapshot, others, 1, signal), 'its own adapter was never trained');
      assert.deepEqual(
        await host.score(base, others, 1, signal),
        await host.score(snapshot, others, 1, signal),
        'nothing but the role of the probes is moved',
      );
      // Whole distributions: what the last KL says is what the snapshot shows on every fifth probe.
      const held = probes.filter((_, index) => index % HELD_OUT === HELD_OUT - 1);
      const exact = (await host.divergence(trained, snapshot, held, 1, signal)).flat();
      const measured = exact.reduce((sum, one) => sum + one.reduce((all, token) => all + token, 0), 0) / exact.length;
      assert.equal(Math.abs((kls.at(-1) ?? NaN) - measured) < 1e-9, old !== null);
      assert.ok(old === null || measured <= settings.delta, String(measured));
    }
    const settings = { old: null, temperature: 1, delta: 1e-9, learningRate: 0.01, maxSteps: 2 };
    const stopped = await alignPolicy(host, probes, settings, signal);
    assert.deepEqual([stopped.met, stopped.kls.length], [false, 3]);
  } finally {
    await host.close();
  }
});
