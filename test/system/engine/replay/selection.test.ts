/** `--only` and the other places in the stead of all lost episodes, on the real runtime. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Episode } from '../../../../src/domain/episode.ts';
import { recordedFor } from '../../../support/recordedFor.ts';
import { c3, errorOf, parseLine, withStore } from '../../../unit/engine/workspace.ts';

const { run, folderFor } = await recordedFor('arithmetic');

/** The episodes of the greedy evaluation after training. */
const evaluated = (folder: string): Episode[] =>
  withStore(folder, (store) => {
    const last = store.evaluations(run).findLast(({ kind }) => kind === 'greedy') ?? assert.fail();
    return store.episodes({ run, phase: 'evaluate', iteration: last.iteration, offset: 0, limit: 1000 });
  });
const levelOf = (folder: string, { problem }: Episode): string =>
  withStore(folder, (store) => String(store.problem(problem).level));

describe('c3 blame --only', () => {
  it('reads the lost episodes of a level, of one episode, or with a label, and says which', async (t) => {
    const folder = folderFor(t);
    const lost = evaluated(folder).filter((one) => one.return === 0);
    const [first] = lost;
    assert.ok(first !== undefined);
    const level = levelOf(folder, first);
    const alike = lost.filter((one) => levelOf(folder, one) === level);
    assert.ok(alike.length < lost.length, 'the lost episodes are of several levels');
    const found = parseLine(
      (await c3(folder, ['blame', '--only', `level=${level}`, '--budget', '60', '--json'])).stdout,
    );
    assert.deepEqual([found['lost'], found['only']], [alike.length, [{ key: 'level', value: level }]]);
    const all = lost.length;
    assert.match(
      String(found['sentence']),
      new RegExp(`^Of ${alike.length} lost episodes? \\(level ${level}\\) \\d+ \\[`, 'u'),
    );
    const one = parseLine(
      (await c3(folder, ['blame', '--only', `episode=${first.leaf}`, '--budget', '20', '--json'])).stdout,
    );
    assert.equal(one['lost'], 1);
    // A message of it has a case by now, which can have a label.
    const bucket = withStore(folder, (store) => {
      const own = new Set<number | null>(store.chain(first.leaf).map(({ id }) => id));
      return store.requestsOf(run, first.problem).find(({ message }) => own.has(message));
    });
    const label = 'a=b "slip" <i>';
    const labelled = await c3(folder, ['label', String(bucket?.id), label]);
    assert.equal(labelled.code, 0, labelled.stderr);
    const { stdout, stderr } = await c3(folder, [
      'blame',
      '--only',
      `label=${label}`,
      '--by',
      'class',
      '--budget',
      '20',
    ]);
    assert.equal(stderr.includes('C3'), false);
    assert.match(stdout, /^Of 1 lost episode \(label a=b "slip" <i>\) /u);
    assert.ok(all > 1);
  });

  it('refuses an unknown key and what no lost episode has, in one sentence, and stores nothing', async (t) => {
    const folder = folderFor(t);
    const counts = withStore(folder, (store) => store.counts());
    const won = evaluated(folder).find((one) => one.return === 1) ?? assert.fail();
    for (const [args, words] of [
      [['--only', 'weather=rain'], /--only selects no episodes by "weather"; give class=, episode=/u],
      [['--only', 'level'], /--only level needs a value/u],
      [['--only', 'level=99'], /No lost episode of the last evaluation has level 99; by level, with/u],
      [['--only', 'class=No Such Class'], /has class No Such Class; by class, with the number of episodes: /u],
      [['--only', `episode=${won.leaf}`], /No lost episode of the last evaluation has episode/u],
      [['--only', 'label=none'], /has label none; none of \d+ has a label/u],
      [['1', '--only', 'level=1'], /either an episode or --only/u],
      [['--team', 'team.yaml'], /has a team of its own, so --team does not apply/u],
    ] as const) {
      const refused = await c3(folder, ['blame', ...args]);
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(errorOf(refused), words);
    }
    assert.deepEqual(
      withStore(folder, (store) => store.counts()),
      counts,
    );
  });
});

describe('c3 try on a part of a run', () => {
  const CHANGE = ['--change', 'max_new_tokens=1', '--json'] as const;

  it('draws from the problems that are selected', async (t) => {
    const folder = folderFor(t);
    const all = evaluated(folder);
    const level = levelOf(folder, all[0] ?? assert.fail());
    const alike = new Set(all.filter((one) => levelOf(folder, one) === level).map(({ problem }) => problem));
    const made = await c3(folder, ['try', ...CHANGE, '--only', `level=${level}`, '--budget', '64']);
    assert.equal(made.code, 0, made.stderr);
    const found = parseLine(made.stdout);
    assert.deepEqual([found['contexts'], found['only']], [alike.size, [{ key: 'level', value: level }]]);
  });

  it('draws from the problem whose message a person labeled', async (t) => {
    const folder = folderFor(t);
    const { leaf, problem } = evaluated(folder)[0] ?? assert.fail();
    assert.equal((await c3(folder, ['replay', String(leaf), '--alternatives', '2', '--replays', '1'])).code, 0);
    const bucket = withStore(folder, (store) => store.requestsOf(run, problem).find(({ message }) => message === leaf));
    assert.equal((await c3(folder, ['label', String(bucket?.id), 'slip'])).code, 0);
    const made = await c3(folder, ['try', ...CHANGE, '--only', 'label=slip', '--budget', '8']);
    assert.equal(made.code, 0, made.stderr);
    assert.equal(parseLine(made.stdout)['contexts'], 1);
  });

  it('begins in the context of a message: what was said before it stays, and nothing is stored', async (t) => {
    const folder = folderFor(t);
    const counts = withStore(folder, (store) => store.counts());
    const { leaf } = evaluated(folder).find((one) => one.return === 1) ?? assert.fail();
    const chain = withStore(folder, (store) => store.chain(leaf));
    const made = await c3(folder, ['try', String(leaf), ...CHANGE, '--budget', '200']);
    assert.equal(made.code, 0, made.stderr);
    const found = parseLine(made.stdout);
    assert.deepEqual([found['contexts'], found['message'], found['run']], [1, leaf, run]);
    const cases = found['cases'] as {
      before: { messages: { text: string }[] };
      after: { messages: { text: string }[] };
    }[];
    assert.ok(cases.length > 0, String(found['sentence']));
    for (const side of cases.flatMap(({ before: one, after: other }) => [one, other])) {
      assert.deepEqual(
        side.messages.slice(0, -1).map(({ text }) => text),
        chain.slice(0, -1).map(({ text }) => text),
      );
    }
    // Each pair is another draw: the change cannot win what the team's own message always loses.
    assert.equal(found['better'], 0);
    const equal = parseLine(
      (await c3(folder, ['try', String(leaf), '--change', 'snapshot=last', '--json', '--budget', '64'])).stdout,
    );
    assert.deepEqual([equal['better'], equal['worse']], [0, 0]);
    assert.deepEqual(
      withStore(folder, (store) => store.counts()),
      counts,
    );
  });

  it('refuses a message with a run, a selection of nothing, and a budget of less than a pair', async (t) => {
    const folder = folderFor(t);
    for (const [args, words] of [
      [['17', '--run', run], /takes either a message or --run/u],
      [['17', '--lost'], /takes either a message or --lost/u],
      [['17', '--only', 'level=1'], /takes either a message or --only/u],
      [['999999'], /999999/u],
      [['x'], /needs the number of a message/u],
      [['--only', 'level=99'], /No episode of the last evaluation has level 99/u],
      [['--lost', '--only', 'level=99'], /No lost episode of the last evaluation has level 99/u],
      [['--only', 'colour=red'], /selects no episodes by "colour"/u],
      [['17', '--budget', '1'], /--budget needs a whole number of at least 2/u],
    ] as const) {
      const refused = await c3(folder, ['try', ...CHANGE, ...args]);
      assert.equal(refused.code, 2, refused.stdout);
      assert.match(errorOf(refused), words);
    }
  });
});
