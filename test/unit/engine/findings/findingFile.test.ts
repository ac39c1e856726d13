/** The file of a finding: what is written is read again, and what is edited by hand is refused by line and key. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatFindingFile, parseFinding, type FindingFile } from '../../../../src/engine/findings/findingFile.ts';
import { C3Error } from '../../../../src/shared/errors.ts';
import { hashContext } from '../../../../src/team/contextKey.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';

const CONTEXT = 'Plan.\n\nProblem:\nWhat is 1 + 2?\n';
const CONFIG = 'seed: 7\nsampling: {temperature: 0.5}\nmodel: team\nprotocol: pair.json\n';
const DRAWS = Array.from({ length: 20 }, (_, at) => ({
  return: [0, 1, 0.25, null][at % 4] ?? null,
  same: at % 3 === 0,
}));

const finding = (changes: Partial<FindingFile> = {}): FindingFile => ({
  finding: 1,
  title: 'The plan on What is 1 + 2?',
  expect: 'held',
  from: { run: 'c3-7-abc', message: 17 },
  problem: { uid: 'a', uidSha: '0'.repeat(64), question: 'What is 1 + 2?', answer: '3', source: 'own', level: null },
  before: [{ as: 'ask', said: 'yes\n---\n- no: "#"' }],
  message: { as: 'plan', said: ' 1 + 2\u0000\u2028\n' },
  context: { key: hashContext(CONTEXT).key, text: CONTEXT },
  drawn: {
    weights: 'a'.repeat(64),
    environment: { runtime: 'r 1', provider: 'cpu', device: 'd', threads: 2, platform: 'linux-x64' },
    draws: DRAWS,
  },
  model: '../team',
  protocol: '{"name": "pair"}\n',
  config: readConfig(CONFIG, 'a test'),
  ...changes,
});

/** The file with one line replaced. */
function edited(from: string | RegExp, to: string): string {
  const text = formatFindingFile(finding());
  const other = text.replace(from, to);
  assert.notEqual(other, text);
  return other;
}
const refused = (text: string, words: RegExp): void => {
  assert.throws(
    () => parseFinding(text, '/a.finding.yaml'),
    (error) => error instanceof C3Error && error.kind === 'input' && words.test(error.message),
  );
};

describe('the file of a finding', () => {
  it('gives every text and draw again, and the keys of the configuration that are not the defaults', () => {
    const text = formatFindingFile(finding());
    const back = parseFinding(text, 'a test');
    const { title: _, model: __, protocol: ___, ...config } = back.config;
    const { title: ____, model: _____, protocol: ______, ...given } = finding().config;
    assert.deepEqual(config, given);
    assert.deepEqual({ ...back, config: null }, { ...finding(), config: null });
    assert.match(text, /^config:\n {2}seed: 7\n {2}sampling:\n {4}temperature: 0\.5\n$/mu);
    assert.match(text, /^ {2}draws: 0\* 1 0\.25 \?\* 0 1 0\.25\* \?/mu);
    assert.equal(formatFindingFile(back), text);
  });

  it('keeps what environments said, and the tests of a problem', () => {
    const event = {
      source: 'tests',
      text: 'no',
      json: { a: [1, null] },
      done: null,
      derived: true,
      streamKey: 'k',
      closing: false,
    };
    const tests = { tests: ['assert f() == 1'], test: '', entryPoint: null, setup: '', prefix: '' };
    const kept = finding({ before: [event], problem: { ...finding().problem, tests } });
    const { before, problem } = parseFinding(formatFindingFile(kept), 'a test');
    assert.deepEqual([before, problem], [kept.before, kept.problem]);
  });

  it('is refused where it was edited by hand, with its line and what was meant', () => {
    refused(edited('expect: held', 'expects: held'), /line 5: expects: unknown key; did you mean expect\?/u);
    refused(
      edited('expect: held', 'expect: hold'),
      /line 5: expect: did you mean held\? It must be one of held, fixed\./u,
    );
    refused(edited('seed: 7', 'sed: 7'), /config\.sed: unknown key; did you mean seed\?/u);
    refused(edited('seed: 7', 'seed: many'), /config\.seed: /u);
    refused(edited('    Plan.', '    Plam.'), /context\.text: differs from the kept text/u);
    refused(edited(/draws: 0\* 1/u, 'draws: 0* 1e9'), /drawn\.draws: must be 20 to 1000 returns/u);
    refused(edited(/draws: 0\* /u, 'draws: '), /drawn\.draws: must be 20 to 1000 returns/u);
    refused('', /is not a finding|finding/u);
    refused('[1]', /finding/u);
    refused('a: *b', /neither JSON nor YAML/u);
  });

  it('is not written where it would be longer than is read', () => {
    const text = 'word '.repeat(60_000);
    assert.throws(
      () => formatFindingFile(finding({ context: { key: hashContext(text).key, text } })),
      /Message 17 cannot be kept as a test: with its context it is longer/u,
    );
  });
});
