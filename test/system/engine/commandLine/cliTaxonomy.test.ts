/** `c3 taxonomy --thresholds` and `c3 label`: what the taxonomy panel does, from the command line. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { c3, makeWorkspace, parseLine } from '../../../unit/engine/workspace.ts';
import { field, list } from './documents.ts';

let workspace = '';
let run = '';
before(async () => {
  workspace = await makeWorkspace();
  run = String(
    parseLine((await c3(workspace, ['run', 'tiny.c3.yaml', '--json', '--override', 'seed=3'])).stdout)['run'],
  );
});
after(() => rmSync(workspace, { recursive: true, force: true }));

/** One line on standard error, nothing on standard output, exit code 2. */
async function refuses(args: readonly string[], says: RegExp): Promise<void> {
  const { code, stdout, stderr } = await c3(workspace, args);
  assert.deepEqual([code, stdout, stderr.split('\n').length], [2, '', 2], args.join(' '));
  assert.match(stderr, says);
}

describe('c3 taxonomy with thresholds', () => {
  it('counts with what it was given, and says so', async () => {
    const { stdout } = await c3(workspace, ['taxonomy', '--run', run, '--json']);
    const {
      thresholds,
      agreement,
      labels,
      unclassified,
      allSucceeded,
      leftOut,
      buckets,
      classes: found,
    } = parseLine(stdout);
    const classes = list(found);
    assert.deepEqual(
      [thresholds, labels, field(agreement, 'kappa')],
      [{ shift: 0.2, ambiguity: 0.01, misleading: 0.5, significance: 0.05 }, [], null],
    );
    assert.equal(
      classes.reduce((sum: number, one) => sum + Number(field(one, 'count')), 0) +
        Number(unclassified) +
        Number(field(allSucceeded, 'count')),
      buckets,
    );
    assert.equal(list(field(allSucceeded, 'cases')).length, field(allSucceeded, 'count'));
    assert.deepEqual(leftOut, { requested: 0, otherDistribution: 0 });
    // Nothing is below 0, nothing closer together than 0, and no mean is above another by more than 1000.
    const other = await c3(workspace, [
      'taxonomy',
      '--run',
      run,
      '--json',
      '--thresholds',
      'misleading=0',
      '--thresholds',
      'ambiguity=0',
      '--thresholds',
      'shift=1000',
    ]);
    assert.deepEqual(
      list(parseLine(other.stdout)['classes'])
        .map((one) => field(one, 'count'))
        .slice(0, 3),
      [0, 0, 0],
    );
    // What somebody replays is no case of the run, and that is said.
    const shown = list(
      field(
        classes.find((one) => Number(field(one, 'count')) > 0),
        'cases',
      ),
    );
    await c3(workspace, ['replay', String(field(shown[0], 'message')), '--alternatives', '2', '--json']);
    const replayed = parseLine((await c3(workspace, ['taxonomy', '--run', run, '--json'])).stdout);
    assert.deepEqual([replayed['leftOut'], replayed['buckets']], [{ requested: 1, otherDistribution: 0 }, buckets]);
    // The cases stay what they were; the credit of the message that was replayed has more evidence.
    const withoutCredits = (of: unknown): unknown =>
      JSON.parse(JSON.stringify(of, (key, value: unknown) => (key === 'credit' ? undefined : value)));
    assert.deepEqual(withoutCredits(replayed['classes']), withoutCredits(found));
    const words = (await c3(workspace, ['taxonomy', '--run', run])).stdout;
    assert.equal(words.match(/^ +\d+ {2}.+, by chance [\d.]+ \[\d+, \d+\]/gmu)?.length, 4);
    assert.match(words, /^ +By chance: what a class counts where messages make no difference, /mu);
    assert.match(words, /^ +\d+ {2}all succeeded: no failure, in no class$/mu);
    assert.match(words, /^ +Not counted: 1 requested replay, which is not a case of this run\.$/mu);
    assert.match(words, /^ +Successful Credit Shift: The paper's name for /mu);
    await refuses(['taxonomy', '--run', run, '--thresholds', 'shfit=1'], /did you mean shift\?/);
  });
});

describe('c3 label', () => {
  it('appends labels, which supersede each other and agree or not with the classes', async () => {
    const report = async (): Promise<Readonly<Record<string, unknown>>> =>
      parseLine((await c3(workspace, ['taxonomy', '--run', run, '--json'])).stdout);
    const cases = list((await report())['classes']).flatMap((one) =>
      list(field(one, 'cases')).map((each) => [String(field(one, 'name')), Number(field(each, 'bucket'))] as const),
    );
    const [first, second] = cases;
    assert.ok(first && second);
    await c3(workspace, ['label', String(first[1]), 'no class of theirs', '--note', 'odd']);
    const { stdout } = await c3(workspace, ['label', String(first[1]), first[0], '--json']);
    assert.deepEqual(
      [parseLine(stdout)['bucket'], parseLine(stdout)['name'], parseLine(stdout)['author']],
      [first[1], first[0], 'you'],
    );
    await c3(workspace, ['label', String(second[1]), 'unclassified']);
    const labelled = await report();
    assert.deepEqual(
      list(labelled['labels']).map((one) => [
        field(one, 'bucket'),
        field(one, 'name'),
        field(one, 'automatic'),
        field(one, 'current'),
      ]),
      [
        [first[1], 'no class of theirs', first[0], false],
        [first[1], first[0], first[0], true],
        [second[1], 'unclassified', second[0], true],
      ],
    );
    assert.deepEqual([field(labelled['agreement'], 'n'), field(labelled['agreement'], 'agreed')], [2, 1]);
    assert.match((await c3(workspace, ['label', String(second[1]), '--take-back'])).stdout, /the label was removed/);
    assert.deepEqual(field((await report())['agreement'], 'n'), 1);
    for (const wrong of [[], ['x', 'y'], ['0', 'y']]) {
      await refuses(['label', ...wrong], /c3 label needs the number of a bucket, for example `c3 label 17`/);
    }
    for (const wrong of [['1'], ['1', 'y', '--take-back'], ['1', ' ']]) {
      await refuses(['label', ...wrong], /c3 label needs a label or --take-back/);
    }
    await refuses(['label', '1', 'x'.repeat(81)], /at most 80 characters/);
    await refuses(['label', '999999', 'x'], /There is no bucket 999999/);
  });
});
