/** Games of guessing numbers through the command line: the referee answers each guess, a right one ends the game. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { formatSummary } from '../../../../../src/engine/commandLine/words.ts';
import { findBundledTeam } from '../../../../../src/engine/places.ts';
import { c3, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

/** Two players who say the same in every game, whatever the referee says; the model only gives their tokens. */
const CONFIG = `title: Numbers
model: ${findBundledTeam('functions')}
method: teamtr
steps: 0
task: {name: numbers, train_file: train.json, evaluation_file: held.json, format: arbench}
policies:
  first: {kind: scripted, answers: [{answer: "Guess: 1234"}]}
  second: {kind: scripted, answers: [{turn: 1, answer: "I cannot say."}, {answer: "Guess: 6850"}]}
evaluation: {instances: 3, samples: 2}
device: {threads: 1}
`;

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-numbers-'));
  writeFileSync(join(folder, 'numbers.c3.yaml'), CONFIG);
  writeFileSync(join(folder, 'train.json'), '["9876"]');
  writeFileSync(join(folder, 'held.json'), '["6850", "1234", "0427"]');
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe('a game of guessing numbers', () => {
  it('is refereed after every guess, ends with the right one, and counts as solved then', async () => {
    const ran = await c3(folder, ['run', 'numbers.c3.yaml', '--json']);
    assert.equal(ran.code, 0, ran.stderr);
    const run = String(parseLine(ran.stdout)['run']);
    const summary = withStore(folder, (reader) => reader.run(run).summary) ?? assert.fail();
    assert.deepEqual(parseLine(ran.stdout)['passAtK'], summary.passAtK);
    // Two episodes of each question: avg@2 and pass@2.
    const { passAt1, passAtK } = summary;
    assert.deepEqual([passAt1.before?.value, passAtK?.samples, passAtK?.before?.value], [2 / 3, 2, 2 / 3]);
    assert.match(formatSummary(summary), /avg@2 \(pass@1\) +66\.7 %[^]*pass@2 +66\.7 %/u);
    withStore(folder, (reader) => {
      const episodes = reader.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 10 });
      const games = episodes.map(({ leaf, return: value, problem }) => {
        const secret = reader.problem(problem).answer.slice(-4);
        return [secret, value, reader.chain(leaf).length] as const;
      });
      // The first guess is 1234 and the fourth 6850; 0427 is guessed in none of ten.
      assert.deepEqual(games.toSorted(), [
        ['0427', 0, 10],
        ['1234', 1, 1],
        ['6850', 1, 4],
      ]);
      const [last] = episodes.filter(({ problem }) => reader.problem(problem).answer.endsWith('6850'));
      const context = reader.fullMessage(last?.leaf ?? 0).context;
      assert.match(
        context,
        /1234: 0 in place, 0 elsewhere\.[^]*No guess of 4 digits\.[^]*1234: 0 in place, 0 elsewhere\./u,
      );
    });
  });
});
