import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Credit } from '../../../src/shared/records.ts';
import type { StoreWriter } from '../../../src/store/types.ts';
import { addMessage, addRequest, addRun, addTree, instance, RUN, temporaryStore } from '../extension/storeFixture.ts';

const credit = (value: number, estimator = 'loo'): Credit => ({ estimator, value, low: null, high: null, n: 2, evaluatorCalls: 2, interval: 'none' });
const GROUP = { run: RUN, phase: 'train', iteration: 1, instance: instance(1).uidSha } as const;

function filled(t: TestContext): { readonly writer: StoreWriter; readonly trees: ReturnType<typeof addTree>; readonly give: (message: number | undefined, value: number, estimator?: string) => void } {
  const { writer, ...store } = temporaryStore();
  t.after(() => { store.remove(); });
  addRun(writer);
  const trees = addTree(writer, { iteration: 1, instance: instance(1), returns: [[0, 1], [0, 0]] });
  const give = (message: number | undefined, value: number, estimator = 'loo'): void => { writer.insertCredit(writer.message(message ?? 0).bucket ?? 0, message ?? 0, credit(value, estimator)); };
  return { writer, trees, give };
}

test('the costliest message is that of the smallest credit shown: on the way to a message and on from it, or in the whole tree', (t) => {
  const { writer, trees: [one, other], give } = filled(t);
  const lost = one?.actors[0] ?? 0;
  assert.deepEqual([writer.costliestOf(GROUP), writer.costliestThrough(lost), writer.costliestThrough(999)], [null, null, null], 'nothing was measured, or is there');
  give(one?.plan, -0.2);
  give(lost, -0.1);
  give(one?.actors[1], 0.4);
  give(other?.plan, 0.2);
  give(other?.actors[1], -0.7);
  // Another estimator's word is not the one that is shown.
  give(lost, -0.9, 'magrpo');
  assert.deepEqual(writer.costliestThrough(lost), { message: one?.plan, value: -0.2 });
  assert.deepEqual(writer.costliestThrough(one?.actors[1] ?? 0), { message: one?.plan, value: -0.2 });
  assert.deepEqual(writer.costliestThrough(other?.actors[0] ?? 0), { message: other?.plan, value: 0.2 }, 'it may be worth something, even so');
  assert.deepEqual(writer.costliestThrough(other?.plan ?? 0), { message: other?.actors[1], value: -0.7 }, 'a plan stands for all that followed it');
  assert.deepEqual(writer.costliestOf(GROUP), { message: other?.actors[1], value: -0.7 });
  assert.equal(writer.costliestOf({ ...GROUP, iteration: 2 }), null);
});

test('a message that was measured by replays alone counts too, by the newest of its own distribution; where it has a credit of its own, that holds', (t) => {
  const { writer, trees: [one], give } = filled(t);
  const [plan, lost] = [one?.plan ?? 0, one?.actors[0] ?? 0];
  for (const value of [-0.9, -0.3]) writer.insertCredit(addRequest(writer, plan, ['else'], [1]).bucket, plan, credit(value));
  assert.deepEqual(writer.costliestThrough(lost), { message: plan, value: -0.3 });
  // Sampled at another temperature: what it says is of another distribution.
  const asked = writer.decision(plan);
  const { bucket } = addRequest(writer, plan, [], []);
  writer.insertDecision({ ...asked, phase: 'replay', iteration: 9, bucket, siblingIndex: 1, text: 'hot', sampling: { ...asked.sampling, temperature: 2 } });
  writer.insertCredit(bucket, plan, credit(-1));
  assert.deepEqual(writer.costliestOf(GROUP), { message: plan, value: -0.3 });
  // What a replay added below it is no part of the episode.
  const again = addMessage(writer, { phase: 'replay', iteration: 7, instance: instance(1), role: 'actor', position: 1, parent: plan, bucket, index: 0, text: 'again' });
  writer.insertCredit(bucket, again, credit(-0.8));
  assert.deepEqual(writer.costliestThrough(plan), { message: plan, value: -0.3 });
  assert.deepEqual(writer.costliestThrough(again), { message: again, value: -0.8 }, 'but it has one of its own');
  give(plan, 0.1);
  assert.deepEqual(writer.costliestThrough(lost), { message: plan, value: 0.1 });
});

test('lost episodes come first where that is asked for, then those in between, the won and the masked ones, page by page', (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => { store.remove(); });
  addRun(writer);
  addTree(writer, { iteration: 1, instance: instance(1), returns: [[1, 0, null, 0.5, -1, 1.5, 0]] });
  const round = { run: RUN, phase: 'train', iteration: 1 } as const;
  const returns = (lostFirst: boolean): (number | null)[] => [0, 3, 6].flatMap((offset) => writer.episodes({ ...round, lostFirst, offset, limit: 3 })).map((episode) => episode.return);
  assert.deepEqual(returns(false), [1, 0, null, 0.5, -1, 1.5, 0]);
  assert.deepEqual(returns(true), [0, -1, 0, 0.5, 1, 1.5, null]);
});
