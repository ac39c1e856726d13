/** What is read of a finished run as learned from, against what the optimizer was given. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { readConfig } from '../../../src/training/config/readConfig.ts';
import { listLearnedMessages } from '../../../src/training/learnedMessages.ts';
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

/** By method: what decides what its updates take, and who learns in the steps 1 and 2. */
const CASES: Readonly<Record<string, readonly string[]>> = {
  c3: ['credit.lone_messages=parent', 'fanout=[3,1]'],
  magrpo: ['credit.group_normalise=true'],
  mappo: ['credit.group_normalise=true', 'value_head.warmup_steps=1'],
  ccpo: ['ccpo.alternate_every=1'],
  teamtr: ['adapter={per: role, rank: 2}', 'teamtr.order=round_robin', 'teamtr.epochs=1'],
};

describe('the messages that a run learned from', () => {
  for (const [method, overrides] of Object.entries(CASES)) {
    it(`are with ${method} those that the optimizer was given, with their advantages`, async (t) => {
      const { start, store } = await tinyWorld(t, team.folder);
      const asked = [`method=${method}`, 'evaluation.before=false', ...overrides];
      const given = new Set<string>();
      await start({
        overrides: asked,
        evaluator: new CountingEvaluator(),
        wrap: watchingSteps((contexts) => {
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
});

const meanLength = (contexts: readonly { readonly messages: readonly { readonly tokens: Int32Array }[] }[]): number => {
  const lengths = contexts.flatMap(({ messages }) => messages.map(({ tokens }) => tokens.length));
  return lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
};
