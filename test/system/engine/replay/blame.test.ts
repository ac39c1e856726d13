/** `c3 blame` on the real runtime: what it answers, spends, stores and refuses. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { BLAME_VERDICTS } from '../../../../src/domain/answer.ts';
import type { Episode } from '../../../../src/domain/episode.ts';
import { EngineService } from '../../../../src/engine/service.ts';
import { openStoreForWriting } from '../../../../src/store/write/writer.ts';
import { recordedFor } from '../../../support/recordedFor.ts';
import { c3, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';

const blame = z.looseObject({
  episode: z.int(),
  verdict: z.enum(BLAME_VERDICTS),
  message: z.int().nullable(),
  messages: z.array(z.int()),
  curve: z.array(
    z.looseObject({
      message: z.int().nullable(),
      role: z.string().nullable(),
      value: z.number(),
      low: z.number(),
      high: z.number(),
      n: z.int(),
    }),
  ),
  evaluatorCalls: z.int(),
  sentence: z.string(),
});

const { run, folderFor } = await recordedFor('arithmetic');

const episodes = (folder: string): Episode[] =>
  withStore(folder, (store) => store.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1000 }));
const lost = (folder: string): Episode => episodes(folder).find((one) => one.return === 0) ?? assert.fail();

async function blamed(folder: string, episode: number, ...args: readonly string[]): Promise<z.infer<typeof blame>> {
  const { code, stdout, stderr } = await c3(folder, ['blame', String(episode), '--json', ...args]);
  assert.equal(code, 0, stderr);
  return blame.parse(parseLine(stdout));
}
const sampled = (folder: string): Episode | undefined =>
  withStore(folder, (store) =>
    store.episodes({ run, phase: 'train', iteration: 1, offset: 0, limit: 100 }).find((one) => one.return === 0),
  );
const requests = (folder: string): number =>
  withStore(folder, (store) => store.countBuckets({ run, origin: 'request' }));

describe('c3 blame', () => {
  it('reads a lost episode: a curve that ends at its return, one sentence, and pairs that verify', async (t) => {
    const folder = folderFor(t);
    const { leaf } = lost(folder);
    const chain = withStore(folder, (store) => store.chain(leaf).map(({ id }) => id));
    const found = await blamed(folder, leaf);
    assert.equal(found.episode, leaf);
    assert.deepEqual(
      found.curve.map(({ message }) => message),
      [null, ...chain],
    );
    const end = found.curve.at(-1) ?? assert.fail();
    assert.deepEqual([end.value, end.low, end.high, end.n], [0, 0, 0, 0]);
    assert.ok(found.curve.every(({ value, low, high }) => low <= value && value <= high && low >= 0 && high <= 1));
    assert.ok(found.evaluatorCalls <= 96 && found.evaluatorCalls > 0);
    assert.match(
      found.sentence,
      /^(?:The \w+ lost it: the chance of success fell from|The team rarely solves|Undecided|\w)/u,
    );
    assert.equal(found.message === null, found.verdict !== 'message');
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--json'])).stdout);
    assert.equal(verified['identical'], verified['checked']);
  });

  it('goes on from what is stored: the same question again costs nothing once it is decided', async (t) => {
    const folder = folderFor(t);
    const { leaf } = lost(folder);
    const first = await blamed(folder, leaf, '--budget', '1000');
    assert.notEqual(first.verdict, 'undecided');
    const before = requests(folder);
    const again = await blamed(folder, leaf, '--budget', '1000');
    assert.deepEqual({ ...again, evaluatorCalls: 0, sentence: '' }, { ...first, evaluatorCalls: 0, sentence: '' });
    assert.equal(again.evaluatorCalls, 0);
    assert.equal(requests(folder), before);
  });

  it('says of a greedy episode, and of no other, that it is read at the sampling temperature', async (t) => {
    const folder = folderFor(t);
    const greedy = await c3(folder, ['blame', String(lost(folder).leaf), '--budget', '8']);
    assert.match(greedy.stderr, /was recorded greedily; it is read at the sampling temperature/u);
    const other = await c3(folder, ['blame', String(sampled(folder)?.leaf ?? assert.fail()), '--budget', '8']);
    assert.equal(other.code, 0);
    assert.doesNotMatch(other.stderr, /greedily/u);
  });

  it('is about the same episode whichever of its messages is named, and keeps to its budget', async (t) => {
    const folder = folderFor(t);
    const { leaf } = lost(folder);
    const [first] = withStore(folder, (store) => store.chain(leaf));
    const small = await blamed(folder, first?.id ?? 0, '--budget', '1');
    assert.equal(small.episode, leaf);
    assert.equal(small.verdict, 'undecided');
    assert.ok(small.evaluatorCalls <= 1);
    const more = await blamed(folder, leaf, '--budget', '20');
    assert.ok(more.evaluatorCalls <= 20, String(more.evaluatorCalls));
  });

  it('says that an episode was not lost, and samples nothing', async (t) => {
    const folder = folderFor(t);
    const won = episodes(folder).find((one) => one.return === 1) ?? assert.fail();
    const { verdict, evaluatorCalls, sentence } = await blamed(folder, won.leaf);
    assert.deepEqual(
      [verdict, evaluatorCalls, sentence],
      ['won', 0, 'The episode was not lost: choose a message of one that was.'],
    );
  });

  it('refuses what it cannot look at in one sentence, and stores nothing', async (t) => {
    const folder = folderFor(t);
    const before = requests(folder);
    for (const [args, words] of [
      [['blame', '999999'], /no message 999999|999999/u],
      [['blame', 'x'], /needs the number of a message/u],
      [['blame', '1', '--budget', '0'], /--budget needs a whole number of at least 1/u],
      [['blame', '1', '--budget', '100001'], /from 1 to 100,000/u],
      [['blame', '1', '--team', 'team.yaml'], /has a team of its own, so --team does not apply/u],
      [['blame', '1', '--spend-money', 'x'], /--spend-money must be a number of at least 0/u],
    ] as const) {
      const refused = await c3(folder, args);
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(errorOf(refused), words);
    }
    assert.equal(requests(folder), before);
  });
});

const interval = z.looseObject({ value: z.number(), low: z.number().nullable(), high: z.number().nullable() });
const runBlame = z.looseObject({
  run: z.string(),
  lost: z.int(),
  read: z.int(),
  withinReach: interval,
  roles: z.array(z.looseObject({ role: z.string(), share: interval, episodes: z.int() })),
  divisions: z.array(
    z.looseObject({
      by: z.string(),
      parts: z.array(z.looseObject({ name: z.string(), share: interval, episodes: z.int() })),
    }),
  ),
  decided: z.int(),
  several: z.int(),
  undecided: z.int(),
  rarelySolved: z.int(),
  cases: z.array(z.looseObject({ episode: z.int(), message: z.int(), role: z.string(), drop: z.number() })),
  evaluatorCalls: z.int(),
  seconds: z.number(),
  sentence: z.string(),
});

/** The lost episodes of the greedy evaluation after training. */
const lostAtTheEnd = (folder: string): Episode[] =>
  withStore(folder, (store) => {
    const last = store.evaluations(run).findLast(({ kind }) => kind === 'greedy') ?? assert.fail();
    const query = { run, phase: 'evaluate', iteration: last.iteration, offset: 0, limit: 1000 } as const;
    return store.episodes(query).filter((one) => one.return === 0);
  });

describe('c3 blame --run', () => {
  async function blamedRun(folder: string, ...args: readonly string[]): Promise<z.infer<typeof runBlame>> {
    const { code, stdout, stderr } = await c3(folder, ['blame', '--json', ...args]);
    assert.equal(code, 0, stderr);
    return runBlame.parse(parseLine(stdout));
  }

  it('divides what was within reach among the roles, and names the messages of the clearest cases', async (t) => {
    const folder = folderFor(t);
    const losing = lostAtTheEnd(folder);
    const found = await blamedRun(folder, '--run', run, '--budget', '600');
    assert.deepEqual([found.run, found.lost, found.read], [run, losing.length, losing.length]);
    assert.ok(found.evaluatorCalls <= 600 && found.evaluatorCalls > 0);
    const { value, low, high } = found.withinReach;
    assert.ok((low ?? NaN) <= value && value <= (high ?? NaN) && (high ?? NaN) <= losing.length);
    const sum = found.roles.reduce((total, { share }) => total + share.value, 0);
    assert.ok(found.roles.length === 0 || Math.abs(sum - 1) < 1e-9, String(sum));
    assert.equal(found.decided + found.several + found.undecided + found.rarelySolved, losing.length);
    for (const { parts } of found.divisions) {
      assert.ok(Math.abs(parts.reduce((total, { share }) => total + share.value, 0) - 1) < 1e-9);
    }
    for (const { episode, message, role } of found.cases) {
      const said = withStore(folder, (store) => store.chain(episode)).find(({ id }) => id === message);
      assert.equal(said?.role, role);
    }
    assert.match(found.sentence, /^Of \d+ lost episodes? \d+ \[\d+, \d+\] (?:was|were) within reach/u);
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--json'])).stdout);
    assert.equal(verified['identical'], verified['checked']);
  });

  it('goes on from what is stored, for the newest run where none is named', async (t) => {
    const folder = folderFor(t);
    const first = await blamedRun(folder, '--budget', '200');
    const again = await blamedRun(folder, '--budget', '200');
    assert.deepEqual(
      [again.run, again.withinReach, again.roles.map(({ role, share }) => [role, share])],
      [first.run, first.withinReach, first.roles.map(({ role, share }) => [role, share])],
    );
    assert.ok(again.evaluatorCalls < first.evaluatorCalls);
  });

  it('reads a random part of the episodes where the budget reaches no further, and says so', async (t) => {
    const folder = folderFor(t);
    const { code, stdout, stderr } = await c3(folder, ['blame', '--budget', '18', '--by', 'source']);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /, by a random \d+ of them/u);
    assert.match(stdout, /^Shares by source are not known either\.$/mu);
  });

  it('is read again for a list of problems, from what is stored alone', async (t) => {
    const folder = folderFor(t);
    const service = new EngineService(join(folder, '.c3', 'c3.sqlite'));
    t.after(() => service.close());
    assert.deepEqual(await service.lostProblems(run), []);
    const found = await blamedRun(folder, '--budget', '600');
    const known = await service.lostProblems(run);
    assert.deepEqual(
      known.map(({ problem }) => problem).toSorted(),
      lostAtTheEnd(folder)
        .map(({ problem }) => problem)
        .toSorted(),
    );
    const count = (verdict: string): number => known.filter((one) => one.verdict === verdict).length;
    assert.deepEqual([count('message'), count('rare')], [found.decided, found.rarelySolved]);
    for (const { start, role, drop, verdict } of known) {
      assert.ok(start.n > 0 && start.low <= start.value && start.value <= start.high && start.high <= 1);
      assert.deepEqual([role !== null, drop !== null], [verdict === 'message', verdict === 'message']);
    }
    await assert.rejects(service.lostProblems('nowhere'), /no run nowhere/u);
  });

  it('leaves an episode of too many messages to itself, and counts it', async (t) => {
    const folder = folderFor(t);
    const { leaf, problem, iteration } = lostAtTheEnd(folder)[0] ?? assert.fail();
    const store = openStoreForWriting(join(folder, '.c3', 'c3.sqlite'));
    const { id: _, ...said } = store.fullMessage(leaf);
    // Beside the episode, not after it.
    let parent = said.parent ?? assert.fail();
    for (let turn = 1; turn <= 200; turn++) {
      parent = store.insertMessage({ ...said, parent, turn });
    }
    store.insertEpisode({
      ...{ run, phase: 'evaluate', iteration, problem, leaf: parent },
      ...{ return: 0, rule: 'exact', evaluatorCalls: 1 },
    });
    store.close();
    const { code, stdout, stderr } = await c3(folder, ['blame', '--run', run, '--budget', '18', '--json']);
    assert.equal(code, 0, stderr);
    const found = parseLine(stdout);
    assert.equal(found['tooLong'], 1);
    assert.match(String(found['sentence']), /^1 lost episode has too many messages to be searched\. Of \d+ lost/u);
    const alone = await c3(folder, ['blame', String(parent)]);
    assert.deepEqual([alone.code, /more than 200 messages/u.test(errorOf(alone))], [2, true]);
  });

  it('refuses what it cannot look at in one sentence, and stores nothing', async (t) => {
    const folder = folderFor(t);
    const before = requests(folder);
    for (const [args, words] of [
      [['blame', '--run', 'nowhere'], /nowhere/u],
      [['blame', '1', '--run', run], /either an episode or --run/u],
      [['blame', '1', '--by', 'level'], /either an episode or --by/u],
      [['blame', '--by', 'weather'], /--by is turn, class, label, level or source, not "weather"/u],
      [['blame', '--budget', '0'], /--budget needs a whole number of at least 1/u],
      [['blame', '--budget', '10000001'], /from 1 to 10,000,000/u],
      [['blame', '--budget', '2'], /does not reach one lost episode; give at least 3 evaluator calls/u],
    ] as const) {
      const refused = await c3(folder, args);
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(errorOf(refused), words);
    }
    assert.equal(requests(folder), before);
  });
});
