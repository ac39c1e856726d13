import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { findingReport, reportJson, reportPage } from '../../../src/report/report.ts';
import type { StoreWriter } from '../../../src/store/write/writer.ts';
import { addMessage, addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../extension/storeFixture.ts';
import { assertBalanced, assertSelfContained, textOf } from './page.ts';

function storeFor(t: TestContext): StoreWriter {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  return writer;
}

const valuesOf = (credits: readonly { readonly estimator: string; readonly value: number }[]): Record<string, number> =>
  Object.fromEntries(credits.map(({ estimator, value }) => [estimator, value]));

describe('findingReport', () => {
  it('holds the alternatives of a training context with their credit by estimator, and their branches to the end', (t) => {
    const writer = storeFor(t);
    const [first, second] = addTree(writer, {
      iteration: 1,
      problem: problem(3),
      returns: [
        [1, 0],
        [0, null],
      ],
    });
    assert.ok(first !== undefined && second !== undefined);
    const report = findingReport(writer, first.plan);
    assert.deepEqual(
      [report.place, report.instance.question.text, report.instance.answer.text],
      ['Step 1', 'Question 3: what is 3 + 1?', '4'],
    );
    assert.deepEqual(
      [report.message.role, report.message.text.text, report.message.return, report.message.leaves],
      ['reasoner', 'plan 0', 0.5, 2],
    );
    assert.equal(report.context.text.text, writer.fullMessage(first.plan).context);
    const [bucket] = report.buckets;
    assert.ok(bucket !== undefined && report.buckets.length === 1);
    // Means 1/2 and 0 over (1, 0) and (0): the others' mean is the baseline of one, 1/3 that of the other.
    assert.deepEqual(
      bucket.alternatives.map(({ credits }) => valuesOf(credits)),
      [
        { loo: 0.5, full_mean: 0.5 - 1 / 3 },
        { loo: -0.5, full_mean: -1 / 3 },
      ],
    );
    assert.deepEqual(
      bucket.alternatives.map(({ returns }) => returns),
      [
        [1, 0],
        [0, null],
      ],
    );
    assert.deepEqual(
      bucket.alternatives.flatMap(({ credits }) =>
        credits.map(({ n, evaluatorCalls, stored }) => [n, evaluatorCalls, stored]),
      ),
      Array.from({ length: 4 }, () => [3, 4, false]),
    );
    assert.deepEqual(
      bucket.alternatives[0]?.branches.map(({ return: value, messages }) => [
        value,
        messages.map(({ message, text }) => [message, text.text]),
      ]),
      [
        [1, [[first.actors[0], 'answer 0.0']]],
        [0, [[first.actors[1], 'answer 0.1']]],
      ],
    );
    assert.equal(bucket.verified, null);
    assert.deepEqual(bucket.cost, {
      evaluatorCalls: 4,
      tokens: { prompt: 18, reused: 0, completion: 18 },
      decisions: { reasoner: 2, actor: 4 },
    });
    assert.deepEqual(report.leftOut, []);
  });

  it('takes the stored credit where there is one, and the newest of it', (t) => {
    const writer = storeFor(t);
    const [first] = addTree(writer, { iteration: 1, problem: problem(3), returns: [[1], [0]] });
    assert.ok(first !== undefined);
    const { bucket } = writer.message(first.plan);
    const credit = {
      estimator: 'loo',
      value: 0.125,
      low: -0.5,
      high: 0.75,
      n: 9,
      evaluatorCalls: 11,
      interval: 'welch',
    };
    writer.insertCredit(bucket ?? 0, first.plan, { ...credit, value: 0.7 });
    writer.insertCredit(bucket ?? 0, first.plan, credit);
    writer.insertCredit(bucket ?? 0, first.plan, { ...credit, estimator: 'magrpo', value: 0.3 });
    const credits = findingReport(writer, first.plan).buckets[0]?.alternatives[0]?.credits ?? [];
    assert.deepEqual(valuesOf(credits), { loo: 0.125, full_mean: 0.5, magrpo: 0.3 });
    assert.deepEqual(
      credits.find(({ estimator }) => estimator === 'loo'),
      { ...credit, stored: true },
    );
  });

  it('shows replays newest first, with how they were verified, and what removing the message changes', (t) => {
    const writer = storeFor(t);
    const [tree] = addTree(writer, { iteration: 1, problem: problem(3), returns: [[1, 0]] });
    const actor = tree?.actors[0] ?? 0;
    const older = addRequest(writer, actor, ['other'], [0]);
    const newer = addRequest(writer, actor, ['', 'third'], [0, 1]);
    const asked = writer.fullMessage(actor);
    // As a replay leaves it: the clicked message has its own return, and an empty one was typed.
    writer.insertReplay({
      bucket: newer.bucket,
      alternative: actor,
      replayIndex: 0,
      leaf: actor,
      return: 1,
      evaluatorCalls: 1,
      tokenHash: 'h',
      environment: asked.environment,
    });
    const typed = writer.insertMessage({
      ...asked,
      phase: 'replay',
      iteration: writer.bucket(newer.bucket).iteration,
      bucket: newer.bucket,
      siblingIndex: 9,
      text: ' ',
      finish: 'typed',
    });
    writer.insertReplay({
      bucket: newer.bucket,
      alternative: typed,
      replayIndex: 0,
      leaf: typed,
      return: 0,
      evaluatorCalls: 1,
      tokenHash: 'h',
      environment: asked.environment,
    });
    const [one] = writer.replaysOfBucket(newer.bucket);
    writer.insertVerification({
      replay: one?.id ?? 0,
      result: 'different',
      detail: 'message 9 differs at token 4',
      environment: asked.environment,
    });
    const report = findingReport(writer, actor);
    assert.deepEqual(
      report.buckets.map(({ bucket, origin }) => [bucket, origin]),
      [
        [asked.bucket, 'training'],
        [newer.bucket, 'request'],
        [older.bucket, 'request'],
      ],
    );
    const found = report.buckets[1];
    assert.deepEqual(found?.verified, { identical: 0, different: 1, notComparable: 0, unverified: 3 });
    // 1 of 1 against 0 of 1: the difference is 1.
    const removal = found.removal;
    assert.deepEqual([removal?.value, removal?.n, removal?.evaluatorCalls, removal?.interval], [1, 2, 2, 'betting']);
    assert.equal(report.buckets[2]?.removal, null);
    assert.deepEqual(
      report.message.estimates.find(({ name }) => name === 'remove')?.credit,
      removal,
      'the only one, so pooled it is the same',
    );
    const page = textOf(reportPage(report));
    assert.match(page, /remove \(empty message\) Replay 2 \(bucket \d+\) \+1\.000/u);
    assert.match(page, /1 different, 3 not re-executed/u);
    assert.match(page, /differs at token 4/u);
  });

  it('is the same for the same store, and its JSON holds the same as its page is made of', (t) => {
    const writer = storeFor(t);
    const [first] = addTree(writer, {
      iteration: 1,
      problem: problem(3),
      returns: [
        [1, 0],
        [0, 0],
      ],
    });
    addRequest(writer, first?.plan ?? 0, ['else'], [1]);
    const [one, other] = [findingReport(writer, first?.plan ?? 0), findingReport(writer, first?.plan ?? 0)];
    assert.equal(reportPage(one), reportPage(other));
    assert.equal(reportJson(one), reportJson(other));
    assert.deepEqual(JSON.parse(reportJson(one)), one);
  });

  it('names the turn of a continuation from the second on', (t) => {
    const writer = storeFor(t);
    const [first] = addTree(writer, { iteration: 1, problem: problem(3), returns: [[1], [0]] });
    const report = findingReport(writer, first?.plan ?? 0);
    const inTurn = (turn: number): string =>
      textOf(
        reportPage({
          ...report,
          buckets: report.buckets.map((bucket) => ({
            ...bucket,
            alternatives: bucket.alternatives.map((alternative) => ({
              ...alternative,
              branches: alternative.branches.map((branch) => ({
                ...branch,
                messages: branch.messages.map((message) => ({ ...message, turn })),
              })),
            })),
          })),
        }),
      );
    assert.doesNotMatch(inTurn(0), /actor\s*, turn/u);
    assert.match(inTurn(1), /actor\s*, turn 2, message/u);
  });

  it('shows hostile texts as text, asks for nothing from elsewhere and is whole markup', (t) => {
    const writer = storeFor(t);
    const hostile =
      '<script>alert(1)</script> [x](command:c3.startRun) file:///etc/passwd \u202egnp.exe \u001b[31m "\' onload=x \ud83d </pre></code></details>';
    const [first] = addTree(writer, {
      iteration: 1,
      problem: { ...problem(3), question: hostile, answer: hostile, source: hostile, uid: hostile },
      returns: [
        [1, 0],
        [0, 1],
      ],
      words: () => hostile.toWellFormed(),
    });
    addRequest(writer, first?.plan ?? 0, [hostile.toWellFormed()], [1]);
    writer.insertLabel({
      message: first?.plan ?? 0,
      bucket: null,
      name: hostile,
      note: hostile,
      author: 'you',
      createdAt: '2026-01-01T00:00:00.000Z',
    });
    const report = findingReport(writer, first?.plan ?? 0);
    const page = reportPage(report);
    assertBalanced(page);
    assertSelfContained(page);
    assert.ok(!page.includes('\u202e') && !page.includes('\u001b') && page.isWellFormed());
    assert.match(page, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/u);
    assert.deepEqual(JSON.parse(reportJson(report)), report);
  });

  it('is bounded, and says what it leaves out and how much', (t) => {
    const writer = storeFor(t);
    const long = 'x'.repeat(1_000_000);
    const [first] = addTree(writer, {
      iteration: 1,
      problem: problem(3),
      returns: [[1], [0]],
      words: (plan, actor) => (actor === null && plan === 0 ? long : 'short'),
    });
    const plan = first?.plan ?? 0;
    for (let index = 0; index < 14; index++) {
      addRequest(writer, plan, [`other ${index}`], [0]);
    }
    addRequest(
      writer,
      plan,
      Array.from({ length: 130 }, (_, index) => `one of many ${index}`),
      [],
    );
    const report = findingReport(writer, plan);
    assert.deepEqual([report.message.text.text.length, report.message.text.leftOut], [20_000, 980_000]);
    assert.deepEqual(report.leftOut, [
      { what: 'older replays of this message', count: 3 },
      { what: 'alternatives', count: 3 },
    ]);
    const page = reportPage(report);
    assert.ok(page.length < 1_500_000, String(page.length));
    assert.match(textOf(page), /980,000 more characters are left out\./u);
    assert.match(textOf(page), /older replays of this message \(3\); alternatives \(3\)/u);
  });

  it('gives the size of all of a context, also of what it leaves out', (t) => {
    const writer = storeFor(t);
    const question = { ...problem(3), uid: 'x'.repeat(250_000) };
    writer.insertProblems([question]);
    const message = addMessage(writer, {
      ...{ iteration: 1, problem: question, role: 'speaker', position: 0, parent: null, bucket: null, index: 0 },
      text: 'short',
    });
    const report = findingReport(writer, message);
    assert.ok(report.context.text.leftOut > 50_000, String(report.context.text.leftOut));
    assert.match(textOf(reportPage(report)), /as the model saw it: 3 tokens, 250.?k characters/u);
  });

  it('walks a branch of very many messages from its end, and counts those before', (t) => {
    const writer = storeFor(t);
    const question = problem(3);
    writer.insertProblems([question]);
    let parent: number | null = null;
    const ids: number[] = [];
    for (let position = 0; position < 500; position++) {
      parent = addMessage(writer, {
        iteration: 1,
        problem: question,
        role: 'speaker',
        position,
        parent,
        bucket: null,
        index: 0,
        text: `message ${position}`,
      });
      ids.push(parent);
    }
    const report = findingReport(writer, ids[250] ?? 0);
    assert.deepEqual(
      [report.before.length, report.before[0]?.text.text, report.before.at(-1)?.text.text],
      [200, 'message 50', 'message 249'],
    );
    assert.deepEqual(report.leftOut, [{ what: 'earlier messages of the episode', count: 50 }]);
    const [branch] = report.branches;
    assert.deepEqual(
      [branch?.messages.at(-1)?.text.text, branch?.messages.length, branch?.leftOut, branch?.return],
      ['message 499', 201, 48, null],
    );
    assert.equal(report.buckets.length, 0);
    assert.match(textOf(reportPage(report)), /What this message was worth was not measured/u);
  });

  it('says so for a message that is not there', (t) =>
    assert.throws(() => findingReport(storeFor(t), 77), /There is no message 77/u));
});

it('names its run and its protocol, and no path of the machine', (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  writer.insertRun({
    id: RUN,
    method: 'c3',
    seed: 7,
    title: 'Named',
    config: JSON.stringify({
      config: { steps: 2 },
      folder: '/home/somebody/secret',
      modelFolder: '/home/somebody/model',
      protocolText: '{"name": "two speakers"}',
      protocolSource: '/home/somebody/protocol.json',
    }),
    plannedSteps: 3,
    createdAt: '2026-01-02T03:04:05.000Z',
  });
  writer.insertSnapshot({ id: 'a'.repeat(64), run: RUN, iteration: 0, base: '/home/somebody/model', file: null });
  const [first] = addTree(writer, { iteration: 1, problem: problem(3), returns: [[1], [0]] });
  const report = findingReport(writer, first?.plan ?? 0);
  assert.deepEqual(
    [report.run.title, report.run.protocol, report.buckets[0]?.continuation.step, report.buckets[0]?.continuation.own],
    ['Named', 'two speakers', 0, true],
  );
  assert.ok(!reportJson(report).includes('somebody') && !reportPage(report).includes('somebody'));
});
