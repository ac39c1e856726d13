/** The bundled dealer team through the command line: it learns, its messages are replayed, and rho is measured. */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { measureLearnedShare } from '../../../../../src/tasks/dealer/dealer.ts';
import { c3, parseLine, withStore } from '../../../../unit/engine/workspace.ts';

let folder = '';
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'c3-dealer-'));
});
after(() => rmSync(folder, { recursive: true, force: true }));

const overrides = (...all: string[]): string[] => ['task.name=dealer', ...all].flatMap((one) => ['--override', one]);

describe('the bundled dealer team', () => {
  it('says messages in form, learns some of the rules, and is replayed to the same bytes', async () => {
    const ran = await c3(folder, [
      'run',
      '--json',
      ...overrides(
        'task.levels=[1]',
        'steps=20',
        'instances_per_step=8',
        'evaluation.instances=128',
        'ppo.learning_rate=1e-3',
        'ppo.kl_coefficient=0',
      ),
    ]);
    assert.equal(ran.code, 0, ran.stderr);
    const document = parseLine(ran.stdout);
    const run = String(document['run']);
    const message = withStore(folder, (reader) => {
      const shares = [2, 4].map((iteration) => {
        const episodes = reader.episodes({ run, phase: 'evaluate', iteration, offset: 0, limit: 1000 });
        const found = episodes.map(({ return: value }) => measureLearnedShare(value ?? 0, 1, 2) ?? 0);
        return found.reduce((sum, share) => sum + share, 0) / found.length;
      });
      const [untrained = 0, trained = 0] = shares;
      assert.ok(Math.abs(untrained - 0.5) < 0.12, `untrained: ${untrained}`);
      assert.ok(trained > untrained + 0.1, `${untrained} -> ${trained}`);
      const [episode] = reader.episodes({ run, phase: 'evaluate', iteration: 1, offset: 0, limit: 1 });
      const [first, last] = reader.chain(episode?.leaf ?? 0);
      assert.match(first?.text ?? '', /^dealer \w+ [A-H]$/u);
      assert.match(last?.text ?? '', /^dealer \w+ [A-H], first \w+ [A-H]$/u);
      return first?.id ?? 0;
    });
    const replayed = await c3(folder, ['replay', String(message), '--alternatives', '3', '--replays', '3', '--json']);
    assert.equal(replayed.code, 0, replayed.stderr);
    const verified = parseLine((await c3(folder, ['verify', '--run', run, '--sample', '20', '--json'])).stdout);
    assert.equal(verified['different'], 0);
    assert.ok(Number(verified['identical']) > 0);
  });

  it('has about the rho of its level, which c3 plan --rho measures and predicts from', async () => {
    const { code, stdout, stderr } = await c3(folder, [
      'plan',
      '--rho',
      '--questions',
      '48',
      '--json',
      ...overrides('steps=3', 'task.levels=[0,0,1]'),
    ]);
    assert.equal(code, 0, stderr);
    const { rho } = parseLine(stdout) as {
      rho: {
        tree: { fanout: number[]; ratio: number; fanoutRatio: number };
        messages: { role: string; rho: Record<'value' | 'low' | 'high', number> | null; varianceRatio: number }[];
      };
    };
    const [dealer, caller] = rho.messages;
    // Of piles chosen alike it is 3; the team has learned its form from demonstrations, and prefers some a little.
    assert.ok(dealer?.rho && dealer.rho.low > 1.5 && dealer.rho.high < 4.5, JSON.stringify(rho));
    assert.ok(dealer.varianceRatio > 4 && dealer.varianceRatio < 7);
    assert.ok((caller?.varianceRatio ?? 1) < 0.5);
    // Of the roles of the pair, the dealer is the one whose messages vary.
    assert.ok(rho.tree.ratio <= 1 && rho.tree.fanoutRatio <= 1, JSON.stringify(rho.tree));
    const words = await c3(folder, ['plan', '--rho', '--questions', '16', ...overrides('steps=1')]);
    assert.match(words.stdout, /What each message decides, on 16 questions with 6 x 4 replays/u);
    assert.match(words.stdout, /Predicted for C3 with fanout \[2, 4\] against 8 whole episodes/u);
    assert.match(words.stdout, /\nshape: auto would sample \[\d, \d\]; its gradient variance, summed over roles, is /u);
  });

  it('is not measured where --rho is left out or cannot be', async () => {
    const needless = await c3(folder, ['plan', '--questions', '9']);
    assert.equal(needless.code, 2);
    assert.match(needless.stderr, /--questions configures the measurement of rho; add --rho/u);
  });
});
