import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Evaluator, Graded } from '../../../src/evaluate/evaluator.ts';
import { extend, Arrivals } from '../../../src/replay/grow.ts';
import { unlessCancelled } from '../../../src/shared/cancellation.ts';
import { CancelledError } from '../../../src/shared/errors.ts';
import { problems, NEVER, PAIR, starts, world } from './helpers.ts';

const never = new AbortController().signal;

describe('arrivals', () => {
  it('are complete in their order, however long each takes', async () => {
    const heard: number[] = [];
    const arrivals = new Arrivals();
    const gates = [0, 1, 2].map(() => Promise.withResolvers<undefined>());
    gates.forEach(({ promise }, index) => arrivals.add(promise, () => heard.push(index)));
    gates[2]?.resolve(undefined);
    gates[1]?.resolve(undefined);
    await setImmediate();
    assert.deepEqual(heard, []);
    gates[0]?.resolve(undefined);
    await arrivals.settled(never);
    assert.deepEqual(heard, [0, 1, 2]);
  });

  it('stop at the first that fails, and say why', async () => {
    const heard: number[] = [];
    const arrivals = new Arrivals();
    arrivals.add(Promise.resolve(), () => heard.push(0));
    arrivals.add(Promise.reject(new Error('disk full')), () => heard.push(1));
    arrivals.add(Promise.resolve(), () => heard.push(2));
    await assert.rejects(arrivals.settled(never), /disk full/);
    assert.deepEqual([heard, arrivals.failed], [[0], true]);
  });

  it('are heard by no one after the end of the work', async () => {
    const heard: number[] = [];
    const arrivals = new Arrivals();
    const gate = Promise.withResolvers<undefined>();
    arrivals.add(gate.promise, () => heard.push(0));
    arrivals.close();
    gate.resolve(undefined);
    await arrivals.settled(never);
    assert.deepEqual(heard, []);
  });

  it('are not waited for once the work is cancelled', async () => {
    const controller = new AbortController();
    const waiting = unlessCancelled(new Promise(() => undefined), controller.signal);
    controller.abort();
    await assert.rejects(waiting, CancelledError);
    assert.equal(await unlessCancelled(Promise.resolve(5), never), 5);
  });
});

/** Scores when asked to. */
class Gated implements Evaluator {
  readonly name = 'gated';
  readonly gates: PromiseWithResolvers<Graded>[] = [];

  evaluate(): Promise<Graded> {
    const gate = Promise.withResolvers<Graded>();
    this.gates.push(gate);
    return gate.promise;
  }
}

describe('messages that are scored while others are sampled', () => {
  it('come with their own scores, in the order in which they were sampled', async () => {
    const { settings } = world(PAIR);
    const evaluator = new Gated();
    const plans = await extend({ ...settings, evaluator }, starts(problems(2)), 0, 1, NEVER);
    const heard: (number | null | undefined)[] = [];
    const growing = extend(
      { ...settings, evaluator },
      plans.map((message) => ({ problem: message.problem, message })),
      1,
      2,
      NEVER,
      (message) => heard.push(message.score?.score),
    );
    while (evaluator.gates.length < 4) {
      await setImmediate();
    }
    evaluator.gates.toReversed().forEach(({ resolve }, index) => resolve({ score: index / 4, rule: 'gated' }));
    const messages = await growing;
    assert.deepEqual(heard, [0.75, 0.5, 0.25, 0]);
    // The scripted policy answers the last request first; nodes are in the order of requests.
    assert.deepEqual(
      messages.map(({ score }) => score?.score),
      heard.toReversed(),
    );
  });

  it('leaves no listener on a signal after many requests', async () => {
    const { settings } = world(PAIR);
    const { signal } = new AbortController();
    for (let request = 0; request < 20; request++) {
      await extend(settings, starts(problems(3)), 0, 2, { signal });
    }
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('keeps what has its score when the work is cancelled, and hears of nothing later', async () => {
    const { settings } = world(PAIR);
    const evaluator = new Gated();
    const plans = await extend({ ...settings, evaluator }, starts(problems(3)), 0, 1, NEVER);
    const controller = new AbortController();
    let heard = 0;
    const growing = extend(
      { ...settings, evaluator },
      plans.map((message) => ({ problem: message.problem, message })),
      1,
      1,
      { signal: controller.signal },
      () => heard++,
    );
    while (evaluator.gates.length < 3) {
      await setImmediate();
    }
    evaluator.gates[0]?.resolve({ score: 1, rule: 'gated' });
    controller.abort();
    await assert.rejects(growing, CancelledError);
    assert.equal(heard, 1);
    evaluator.gates[1]?.resolve({ score: 1, rule: 'gated' });
    await setImmediate();
    assert.equal(heard, 1);
  });

  it('end with what failed where a message could not be kept', async () => {
    const { settings } = world(PAIR);
    const stopped = extend(settings, starts(problems(2)), 0, 2, NEVER, () => {
      throw new Error('disk full');
    });
    await assert.rejects(stopped, /disk full/);
  });
});
