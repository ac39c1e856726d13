/**
 * A run that is killed again and again, at every phase, and resumed each time: it ends with the weights and the rows of
 * one that never was.
 */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { makeWorkspace } from '../unit/engine/workspace.ts';
import { jsonl, sums } from '../unit/training/tinyTeam.ts';
import { assertSame, delays, interrupted, LOADED } from './interrupted.ts';
import type { Moment } from './killed.ts';
import type { Sizes } from './tables.ts';

const CONFIG = `title: Killed team
model: team
protocol: pair.json
task: {train_file: train.jsonl, evaluation_file: held.jsonl}
steps: 9
instances_per_step: 3
checkpoint_every: 3
snapshot_every: 2
sampling: {max_new_tokens: 6}
ppo: {learning_rate: 0.002}
evaluation: {instances: 6, batch: 2, every: 4}
device: {threads: 1}
`;
const SIZES: Sizes = { batch: 2, evaluated: 6, episodes: 3 * 8 };

let workspace = '';

const at = (line: RegExp, later?: number): Moment => ({ kind: 'line', line, ...(later !== undefined && { later }) });

/** In the order of the run's phases; between two of them the run is resumed. */
export const PHASES: readonly Moment[] = [
  { kind: 'start', later: 60 },
  { kind: 'start', later: 250 },
  at(LOADED),
  at(/greedy, before training$/m),
  at(/greedy, before training: 2 of 6/),
  at(/greedy, before training: 6 of 6/),
  at(LOADED, 25),
  at(/sampled, before training: 4 of 6/),
  at(/Training: step 1 of 9/),
  at(/Training: step 1 of 9/, 15),
  { kind: 'step' },
  at(LOADED),
  { kind: 'file', name: /^[0-9a-f]{64}\.safetensors\.\d+\.tmp$/ },
  at(/Step 2 of 9/),
  { kind: 'file', name: /^checkpoint-.*\.tmp$/ },
  at(/Executing step \d of [34] again/),
  at(/Step 4 of 9/),
  at(/greedy, after step 4 of 9: 2 of 6/),
  at(/sampled, after step 4 of 9: 6 of 6/),
  at(/Executing step \d of [456] again/),
  at(LOADED, 70),
  { kind: 'step' },
  { kind: 'file', name: /^[0-9a-f]{64}\.safetensors$/ },
  { kind: 'file', name: /^checkpoint-.*\.safetensors$/ },
  at(/Step 7 of 9/, 10),
  at(/Executing step \d of [78] again/),
  at(/Step 9 of 9/),
  at(/greedy, after training$/m),
  at(/greedy, after training: 4 of 6/),
  at(LOADED, 30),
  at(/sampled, after training: 2 of 6/),
  at(/sampled, after training: 6 of 6/),
];

/** One moment of each kind, in the same order. */
export const ONE_OF_EACH: readonly Moment[] = [
  { kind: 'start', later: 250 },
  at(/Training: step 1 of 9/, 15),
  { kind: 'step' },
  { kind: 'file', name: /^[0-9a-f]{64}\.safetensors\.\d+\.tmp$/ },
  { kind: 'file', name: /^checkpoint-.*\.tmp$/ },
  at(/Executing step \d of [34] again/),
  at(/Step 4 of 9/),
  at(/sampled, after step 4 of 9: 4 of 6/),
];

/** What the tests of a file share. */
export function killedTeam(): void {
  before(async () => {
    workspace = await makeWorkspace();
    writeFileSync(join(workspace, 'tiny.c3.yaml'), CONFIG);
    writeFileSync(join(workspace, 'train.jsonl'), jsonl(sums(10)));
  });
  after(() => rmSync(workspace, { recursive: true, force: true }));
}

export function killedInPhases(moments: readonly Moment[]): void {
  it(`a run that is killed with SIGKILL comes to the same end over ${moments.length} kills in its phases`, async (t) => {
    const [whole, killed] = [
      await interrupted(t, workspace, [], [], SIZES),
      await interrupted(t, workspace, moments, [], SIZES),
    ];
    assert.ok(killed.kills >= 0.75 * moments.length, `${killed.kills} kills\n${killed.log}`);
    t.diagnostic(`${killed.kills} kills, ${killed.lost} evaluator calls lost at most`);
    assertSame(killed, whole);
    // Kills in generation and evaluation cost calls; at most those of the batches under way, 6 problems, 2 or 24 calls
    // at a time.
    assert.equal(whole.lost, 0);
    assert.ok(killed.lost > 0 && killed.lost <= 24 * killed.kills, String(killed.lost));
  });
}

/** @param fewest kills, however fast the runs are */
export function killedWhereDrawnAgain(kills: number, fewest: number): void {
  it('a run that is killed with SIGKILL comes to the same end over kills at pseudo-random times where equal messages are drawn again', async (t) => {
    const overrides = ['fanout_unique=true', 'sampling.max_new_tokens=1', 'snapshot_every=1'];
    const moments = delays(2, kills, 300).map((later) => at(LOADED, later));
    const sizes = { ...SIZES, mostEpisodes: 2 * SIZES.episodes };
    const [whole, killed] = [
      await interrupted(t, workspace, [], overrides, sizes),
      await interrupted(t, workspace, moments, overrides, sizes),
    ];
    t.diagnostic(`${killed.kills} kills`);
    assert.ok(killed.kills >= fewest, `${killed.kills} kills\n${killed.log}`);
    assertSame(killed, whole);
  });
}

/** @param fewest kills, however fast the runs are */
export function killedInSeveralSteps(kills: number, fewest: number): void {
  // A value head is one thing more that must come back.
  for (const method of ['c3', 'mappo']) {
    it(`a run that is killed with SIGKILL comes to the same end over kills at pseudo-random times, with several optimiser steps, k1 and every snapshot kept: ${method}`, async (t) => {
      const overrides = [
        'steps=9',
        'checkpoint_every=2',
        'snapshot_every=1',
        'ppo.epochs=2',
        'ppo.kl_estimator=k1',
        'protocol=four.json',
        'fanout=[2,1,1,2]',
        'evaluator_budget=4',
        `method=${method}`,
      ];
      const moments = delays(1, kills, 300).map((later) => at(LOADED, later));
      const sizes = { ...SIZES, episodes: 3 * 4 };
      const [whole, killed] = [
        await interrupted(t, workspace, [], overrides, sizes),
        await interrupted(t, workspace, moments, overrides, sizes),
      ];
      t.diagnostic(`${killed.kills} kills, ${killed.lost} evaluator calls lost at most`);
      assert.ok(killed.kills >= fewest, `${killed.kills} kills\n${killed.log}`);
      assertSame(killed, whole);
    });
  }
}
