import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Headline } from '../../../../src/shared/credit/headline.ts';
import type { StoreWriter } from '../../../../src/store/types.ts';
import { headline, setHeadline } from '../../../support/headlines.ts';
import { addRun, addTree, problem, RUN, temporaryStore } from '../../extension/storeFixture.ts';

const GROUP = { run: RUN, phase: 'train', iteration: 1, problem: problem(1).uidSha } as const;

function filled(t: TestContext): {
  readonly writer: StoreWriter;
  readonly trees: ReturnType<typeof addTree>;
  readonly give: (message: number | undefined, value: number, changes?: Partial<Headline>) => void;
} {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  const trees = addTree(writer, {
    iteration: 1,
    problem: problem(1),
    returns: [
      [0, 1],
      [0, 0],
    ],
  });
  const give = (message: number | undefined, value: number, changes: Partial<Headline> = {}): void =>
    setHeadline(writer.path, message ?? 0, headline(value, changes));
  return { writer, trees, give };
}

test('the lowest-credit message is the lowest of those whose interval lies below 0: on the way to a message and on from it, or in the whole tree', (t) => {
  const {
    writer,
    trees: [one, other],
    give,
  } = filled(t);
  const lost = one?.actors[0] ?? 0;
  assert.deepEqual(
    [writer.costliestOf(GROUP), writer.costliestThrough(lost), writer.costliestThrough(999)],
    [null, null, null],
    'nothing was measured, or is there',
  );
  give(one?.plan, -0.2);
  give(lost, -0.9, { low: -1, high: 0.1 });
  give(one?.actors[1], 0.4);
  give(other?.plan, -0.15, { low: -0.5, high: 0.2 });
  give(other?.actors[1], -0.7);
  assert.deepEqual(
    writer.costliestThrough(lost),
    { message: one?.plan, value: -0.2, decided: true },
    'a lower one that is open is not called the lowest',
  );
  assert.deepEqual(writer.costliestThrough(one?.actors[1] ?? 0), { message: one?.plan, value: -0.2, decided: true });
  assert.deepEqual(writer.costliestThrough(other?.actors[0] ?? 0), {
    message: other?.plan,
    value: -0.15,
    decided: false,
  });
  assert.deepEqual(
    writer.costliestThrough(other?.plan ?? 0),
    { message: other?.actors[1], value: -0.7, decided: true },
    'a plan stands for all that followed it',
  );
  assert.deepEqual(writer.costliestOf(GROUP), { message: other?.actors[1], value: -0.7, decided: true });
  assert.equal(writer.costliestOf({ ...GROUP, iteration: 2 }), null);
});

test('while none is decided the candidate lies the most below 0 for its uncertainty; one that helped is none, and one without bounds comes later', (t) => {
  const {
    writer,
    trees: [one, other],
    give,
  } = filled(t);
  give(one?.plan, -0.1, { low: null, high: null, verdict: 'undecided' });
  assert.deepEqual(writer.costliestOf(GROUP), { message: one?.plan, value: -0.1, decided: false });
  give(one?.actors[0], -0.9, { low: -1, high: 0.4 });
  // Its upper bound is nearer to 0, and says no more than that little was measured to be there.
  give(one?.actors[1], -0.01, { low: -0.06, high: 0.05 });
  give(other?.plan, 0.4);
  give(other?.actors[0], 0, { verdict: 'alone', low: null, high: null });
  assert.deepEqual(writer.costliestOf(GROUP), { message: one?.actors[0], value: -0.9, decided: false });
  assert.equal(writer.costliestThrough(other?.actors[0] ?? 0), null);
});
