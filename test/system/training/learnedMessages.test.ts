/** What is read of a finished run as learned from, against what the optimizer was given. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { loadTokenizer } from '../../../src/policy/tokenizer.ts';
import type { TrainingContext } from '../../../src/runtime/train/graph/pack.ts';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { listLearnedMessages } from '../../../src/training/learnedMessages.ts';
import { readLearnedTuples } from '../../../src/training/learnedTuples.ts';
import { getMethod } from '../../../src/training/methods/methods.ts';
import { CountingEvaluator } from '../../unit/replay/helpers.ts';
import { teamFolder, TINY_CONFIG, tinyWorld } from '../../unit/training/tinyRun.ts';
import { PAIR } from '../../unit/training/tinyTeam.ts';
import { watchingSteps } from '../../unit/training/watched.ts';

let team: Awaited<ReturnType<typeof teamFolder>>;
before(async () => {
  team = await teamFolder();
});
after(() => team.remove());

/** A message by what the optimizer sees of it; an advantage is of the precision that it has there. */
const seen = (role: string | undefined, tokens: Int32Array, advantage: number): string =>
  `${role ?? ''} ${Math.fround(advantage).toPrecision(6)} ${tokens.join()}`;

/** All that the optimizer gets of a message, to the bit; a token without a weight counts as every other. */
const exactly = (
  role: string | undefined,
  numbers: readonly ArrayLike<number>[],
  advantage: number | undefined,
  weight: number | undefined,
): string => JSON.stringify([role, numbers.map((one) => Array.from(one)), advantage, weight]);

/** Contexts as rows, those of copies too. */
function rowsOf(contexts: readonly TrainingContext[], apart: boolean): string[] {
  return contexts.flatMap(({ role, prompt, messages }) => {
    const beside = contexts.filter((one) => !apart || one.role === role).flatMap((one) => one.messages);
    const tokens = beside.reduce((sum, { copies = 1, ...one }) => sum + copies * one.tokens.length, 0);
    return messages.flatMap(({ tokens: ids, behaviour, advantages, weight = 1 / tokens, copies = 1 }) => {
      assert.deepEqual(new Set(advantages).size, 1);
      return Array.from({ length: copies }, () => exactly(role, [prompt, ids, behaviour], advantages[0], weight));
    });
  });
}

/** By method: what decides what its updates take, and who learns in the steps 1 and 2. */
const CASES: Readonly<Record<string, readonly string[]>> = {
  c3: ['credit.lone_messages=parent', 'fanout=[3,1]', 'ppo.mini_batches=2'],
  magrpo: ['credit.group_normalise=true'],
  mappo: ['credit.group_normalise=true', 'value_head.warmup_steps=1', 'ppo.loss_weight=message'],
  ccpo: ['ccpo.alternate_every=1', 'ppo.loss_weight=token'],
  'magrpo by nodes': ['magrpo={num_agents: 2, num_turns: 1, num_generations: 4, termination_threshold: null}'],
  teamtr: ['adapter={per: role, rank: 2}', 'teamtr.order=round_robin', 'teamtr.epochs=1'],
};

describe('the messages that a run learned from', () => {
  for (const [name, overrides] of Object.entries(CASES)) {
    const [method = ''] = name.split(' ');
    it(`are with ${name} those that the optimizer was given, with their advantages`, async (t) => {
      const { start, store } = await tinyWorld(t, team.folder);
      const asked = [`method=${method}`, 'evaluation.before=false', 'ppo.skip_zero_credit=false', ...overrides];
      const given = new Set<string>();
      const trained: string[] = [];
      await start({
        overrides: asked,
        evaluator: new CountingEvaluator(),
        wrap: watchingSteps((contexts) => {
          trained.push(...rowsOf(contexts, method === 'teamtr'));
          for (const { role, messages } of contexts) {
            // TeamTR counts every message as much, so that its length is in the advantage.
            const length = method === 'teamtr' ? meanLength(contexts) : 0;
            for (const { tokens, advantages } of messages) {
              const [advantage = 0] = advantages;
              if (advantage !== 0) {
                given.add(seen(role, tokens, length === 0 ? advantage : (advantage * tokens.length) / length));
              }
            }
          }
        }),
      });
      const config = readConfig(TINY_CONFIG, 'tiny.c3.yaml', asked);
      const learned = [...listLearnedMessages({ store, run: 'run-1', config, protocol: PAIR })];
      const read = new Set(
        learned
          .filter(({ advantage }) => advantage !== 0)
          .map(({ role, message, advantage }) => seen(role, store.fullMessage(message).tokens, advantage)),
      );
      assert.ok(given.size > 4, `only ${given.size} messages were learned from`);
      assert.deepEqual([...read].toSorted(), [...given].toSorted());
      const tokenizer = await loadTokenizer(team.folder);
      const source = { store, run: 'run-1', config, method: getMethod(config.method), protocol: PAIR, tokenizer };
      const tuples = [...(await readLearnedTuples(source, 1)), ...(await readLearnedTuples(source, 2))];
      assert.deepEqual(
        tuples
          .map((one) => exactly(one.role, [one.prompt, one.tokens, one.logprobs], one.advantage, one.weight))
          .toSorted(),
        trained.toSorted(),
      );
      assert.deepEqual(
        new Set(tuples.map(({ iteration, stage, message }) => `${iteration} ${stage} ${message}`)),
        new Set(learned.map(({ iteration, stage, message }) => `${iteration} ${stage} ${message}`)),
      );
      const roles = (iteration: number) =>
        [...new Set(learned.filter((one) => one.iteration === iteration).map(({ role }) => role))].toSorted();
      const [first, second] = PAIR.roles.map(({ name }) => name);
      const both = [first, second].toSorted();
      const steps = { ccpo: [[first], [second]], mappo: [[], both] }[method] ?? [both, both];
      assert.deepEqual([roles(1), roles(2)], steps);
      if (method === 'teamtr') {
        // Who speaks second in a step learns from what was sampled after the first one's update.
        const stages = learned.map(({ iteration, stage, role }) => `${iteration} ${stage} ${role}`);
        assert.deepEqual(
          new Set(stages),
          new Set([`1 0 ${String(first)}`, `1 1 ${String(second)}`, `2 0 ${String(second)}`, `2 1 ${String(first)}`]),
        );
      }
    });
  }

  it('are refused as tuples if an update used what the store does not keep', async (t) => {
    const tokenizer = await loadTokenizer(team.folder);
    for (const [method, change, words] of [
      ['magrpo', 'ppo.kl_estimator=k1', /ppo\.kl_estimator: k1.*reference policy/u],
      ['teamtr', 'teamtr.reuse=weighted', /teamtr\.reuse: weighted.*does not keep these weights/u],
    ] as const) {
      const { start, store } = await tinyWorld(t, team.folder);
      const asked = [`method=${method}`, 'steps=1', 'evaluation.before=false', 'teamtr.resample_every=null'];
      await start({ overrides: asked, evaluator: new CountingEvaluator() });
      const read = (overrides: readonly string[]) => {
        const config = readConfig(TINY_CONFIG, 'tiny.c3.yaml', overrides);
        const run = { store, run: 'run-1', config, method: getMethod(config.method), protocol: PAIR, tokenizer };
        return readLearnedTuples(run, 1);
      };
      assert.ok((await read(asked)).length > 4);
      await assert.rejects(read([...asked, change]), words);
    }
  });
});

const meanLength = (contexts: readonly { readonly messages: readonly { readonly tokens: Int32Array }[] }[]): number => {
  const lengths = contexts.flatMap(({ messages }) => messages.map(({ tokens }) => tokens.length));
  return lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
};
