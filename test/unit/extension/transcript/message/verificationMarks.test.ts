import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { VerificationResult } from '../../../../../src/domain/verification.ts';
import { cacheMessages, VerificationMarks } from '../../../../../src/extension/transcript/message/verificationMarks.ts';
import { addMessage, addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../../storeFixture.ts';

const store = temporaryStore();
const { writer } = store;
let plan = 0;
let actor = 0;

before(() => {
  addRun(writer);
  const [first] = addTree(writer, { iteration: 1, problem: problem(1), returns: [[1, 0]] });
  plan = first?.plan ?? 0;
  actor = first?.actors[0] ?? 0;
});
after(() => store.remove());

const label = (message: number, branch = true): string | undefined =>
  new VerificationMarks(writer).of(message, branch)?.label;

function verify(bucket: number, alternative: number, result: VerificationResult, detail = ''): void {
  for (const replay of writer.replaysOfBucket(bucket)) {
    if (replay.alternative === alternative) {
      writer.insertVerification({ replay: replay.id, result, detail, environment: 1 });
    }
  }
}

test('every branch has a mark: first not verified yet, then what was found last', () => {
  const {
    bucket,
    alternatives: [one = 0, two = 0, three = 0],
  } = addRequest(writer, actor, ['x', 'y', 'z'], [1, 0, 1]);
  assert.deepEqual(
    [one, two, three].map((id) => label(id)),
    ['not verified yet', 'not verified yet', 'not verified yet'],
  );
  verify(bucket, one, 'different', 'message 1 differs at token 0');
  verify(bucket, one, 'identical');
  verify(bucket, two, 'different', 'message 7 differs at token 5');
  verify(bucket, three, 'notComparable', 'the weights are gone');
  assert.deepEqual(
    [one, two, three].map((id) => label(id)),
    ['identical', 'differs at token 5', 'not comparable'],
  );
  assert.equal(new VerificationMarks(writer).of(three, true)?.detail, 'the weights are gone');
  assert.equal(label(actor, false), undefined, 'the message that was asked about has no replay of its own');
});

test('a message of the run has a mark only once one of its replays was verified', () => {
  const [tree] = addTree(writer, { iteration: 2, problem: problem(1), returns: [[1, 0]] });
  const [leaf = 0] = tree?.actors ?? [];
  const bucket = writer.message(tree?.plan ?? 0).bucket ?? 0;
  writer.insertReplay({
    bucket,
    alternative: tree?.plan ?? 0,
    replayIndex: 0,
    leaf,
    return: 1,
    evaluatorCalls: 1,
    tokenHash: 'h',
    environment: 1,
  });
  assert.equal(label(tree?.plan ?? 0, false), undefined);
  verify(
    bucket,
    tree?.plan ?? 0,
    'different',
    'return differs: 1 is stored, the evaluator says 0 of the stored messages',
  );
  assert.equal(label(tree?.plan ?? 0, false), 'return differs');
  assert.equal(label(leaf, false), undefined, "the plan's replay is not the actor's own");
});

test('what continues an alternative has the mark of the replays that run through it', () => {
  const asked = writer.fullMessage(plan);
  const iteration = writer.nextRequestNumber(RUN);
  const bucket = writer.insertBucket({
    run: RUN,
    origin: 'request',
    iteration,
    problem: asked.problem,
    role: asked.role,
    turn: 0,
    contextKey: asked.contextKey,
    snapshot: asked.snapshot,
    message: plan,
  });
  const parts = { phase: 'replay', iteration, problem: problem(1) } as const;
  const alternative = addMessage(writer, {
    ...parts,
    role: 'reasoner',
    position: 0,
    parent: null,
    bucket,
    index: 1,
    text: 'other',
  });
  const paths = [0, 1].map((index) => {
    const middle = addMessage(writer, {
      ...parts,
      role: 'critic',
      position: 1,
      parent: alternative,
      bucket: null,
      index,
      text: `middle ${index}`,
    });
    const leaf = addMessage(writer, {
      ...parts,
      role: 'actor',
      position: 2,
      parent: middle,
      bucket: null,
      index: 0,
      text: `leaf ${index}`,
    });
    const replay = writer.insertReplay({
      bucket,
      alternative,
      replayIndex: index,
      leaf,
      return: 1,
      evaluatorCalls: 1,
      tokenHash: 'h',
      environment: 1,
    });
    return { middle, leaf, replay };
  });
  const [first, second] = paths;
  assert.ok(first && second);
  writer.insertVerification({ replay: first.replay, result: 'identical', detail: '', environment: 1 });
  assert.deepEqual(
    [first.middle, first.leaf, second.middle, second.leaf, alternative].map((id) => label(id)),
    ['identical', 'identical', 'not verified yet', 'not verified yet', 'not verified yet'],
  );
  writer.insertVerification({
    replay: second.replay,
    result: 'different',
    detail: 'message 3 differs at token 2',
    environment: 1,
  });
  assert.deepEqual(
    [first.middle, first.leaf, second.middle, second.leaf, alternative].map((id) => label(id)),
    ['identical', 'identical', 'differs at token 2', 'differs at token 2', 'differs at token 2'],
  );
});

test('an alternative that was not continued says that it is not verified', () => {
  const asked = writer.fullMessage(actor);
  const iteration = writer.nextRequestNumber(RUN);
  const bucket = writer.insertBucket({
    run: RUN,
    origin: 'request',
    iteration,
    problem: asked.problem,
    role: asked.role,
    turn: 0,
    contextKey: asked.contextKey,
    snapshot: asked.snapshot,
    message: actor,
  });
  const id = addMessage(writer, {
    phase: 'replay',
    iteration,
    problem: problem(1),
    role: 'actor',
    position: 1,
    parent: plan,
    bucket,
    index: 1,
    text: 'cut short',
  });
  assert.deepEqual(new VerificationMarks(writer).of(id, true), {
    state: 'unverified',
    label: 'not verified yet',
    detail: 'it was not continued to the end of the episode',
  });
});

test('a remembering reader reads each message once', () => {
  let reads = 0;
  const reader = cacheMessages({
    ...writer,
    message: (id: number) => {
      reads++;
      return writer.message(id);
    },
  });
  assert.deepEqual(
    [reader.message(plan), reader.message(plan)].map(({ id }) => id),
    [plan, plan],
  );
  assert.equal(reads, 1);
  assert.deepEqual(
    reader.messages([actor, plan]).map(({ id }) => id),
    [actor, plan],
  );
  assert.deepEqual([reader.message(actor), reader.message(plan)], writer.messages([actor, plan]));
  assert.equal(reads, 1);
});
