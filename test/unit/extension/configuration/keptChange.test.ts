/** A change that was tried, written into a configuration: its keys and nothing else. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parse } from 'yaml';
import { NO_CHANGE } from '../../../../src/domain/trial.ts';
import { listDifferingKeys, toKeptKeys, setConfigKeys } from '../../../../src/extension/configuration/keptChange.ts';
import { createTemplate } from '../../../../src/extension/configuration/template.ts';
import { parseProtocol } from '../../../../src/team/parseProtocol.ts';
import { checkConfig } from '../../../../src/training/config/checkConfig.ts';
import { readConfig } from '../../../../src/training/config/readConfig.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../media/examples');
const PROMPT = 'Plan {question}.\n\n  One step a line: # no comment\n';
const PAIR = parseProtocol('[{"role": "reasoner", "prompt": "Plan."}, {"role": "actor", "prompt": "Act."}]', 'pair');
const CAPPED = parseProtocol('[{"role": "actor", "prompt": "Act.", "max_new_tokens": 4}]', 'capped');

const storedOf = (text: string): string => JSON.stringify({ config: readConfig(text, 'run'), folder: '/runs' });
const runOf = (text: string, protocol = PAIR) => ({ run: 'run-1', stored: storedOf(text), protocol });
const prompt = (text: string) => [{ path: ['prompts', 'reasoner'], value: text }] as const;

describe('what is written', () => {
  it('is one key more, beside comments and in the form that is there', () => {
    for (const [before, after] of [
      ['', 'prompts:\n  reasoner: "Plan it."\n'],
      ['# mine\nsteps: 2 # few', '# mine\nsteps: 2 # few\nprompts:\n  reasoner: "Plan it."\n'],
      ['{steps: 2}\n', '{steps: 2, prompts: {reasoner: "Plan it."}}\n'],
      ['prompts: {}\n', 'prompts: {reasoner: "Plan it."}\n'],
      ['prompts:\nsteps: 2\n', 'prompts: {reasoner: "Plan it."}\nsteps: 2\n'],
      ['prompts: # none yet\nsteps: 2\n', 'prompts: {reasoner: "Plan it."} # none yet\nsteps: 2\n'],
      [
        'prompts:\n    # of the actor\n    actor: Act.  # short\n# then\nsteps: 2\n',
        'prompts:\n    # of the actor\n    actor: Act.  # short\n    reasoner: "Plan it."\n# then\nsteps: 2\n',
      ],
      [
        'prompts:\n  reasoner: |-\n    Old\n    words\n  actor: Act.\n',
        'prompts:\n  reasoner: "Plan it."\n  actor: Act.\n',
      ],
      ["prompts: {reasoner: 'Old', actor: x} # y\n", 'prompts: {reasoner: "Plan it.", actor: x} # y\n'],
      ['steps: 2\r\n', 'steps: 2\r\nprompts:\r\n  reasoner: "Plan it."\r\n'],
      ['p: &p {actor: x}\nprompts: *p\n', null],
      ['prompts: &p {reasoner: x}\nother: *p\n', null],
      ['prompts: words\n', null],
      ['steps: 2\n...\n', null],
      ['steps: [\n', null],
    ] as const) {
      if (after === null) {
        assert.throws(() => setConfigKeys(before, prompt('Plan it.')), /cannot be written there|has problems/u, before);
      } else {
        assert.equal(setConfigKeys(before, prompt('Plan it.')), after);
      }
    }
  });

  it('is a block where the text has several lines', () => {
    assert.equal(
      setConfigKeys('steps: 2\n', prompt(PROMPT)),
      'steps: 2\nprompts:\n  reasoner: |\n    Plan {question}.\n\n      One step a line: # no comment\n',
    );
    assert.equal(setConfigKeys('', prompt('  a\nb')), 'prompts:\n  reasoner: |2-\n      a\n    b\n');
    assert.match(setConfigKeys('prompts: {actor: x}\n', prompt(PROMPT)), /^prompts: \{actor: x, reasoner: "Plan/u);
  });

  it('is read again as what was meant, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'grapheme' }),
          fc
            .array(fc.constantFrom(' ', 'a', '\n', '\t', '#', ':', '"', '\r', '|'), { maxLength: 12 })
            .map((all) => all.join('')),
        ),
        fc.constantFrom(
          '',
          'steps: 2\n',
          'prompts:\n  reasoner: |+\n    x\n\n  actor: y\n',
          'prompts: {actor: y}',
          'prompts:\r\n  actor: y\r\n',
        ),
        (text, before) => {
          const after: unknown = parse(setConfigKeys(before, prompt(text)));
          const there: unknown = parse(before) ?? {};
          assert.ok(typeof after === 'object' && after !== null && typeof there === 'object' && there !== null);
          const prompts: unknown = 'prompts' in there ? there.prompts : {};
          assert.deepEqual(after, { ...there, prompts: { ...(prompts as object), reasoner: text } });
        },
      ),
      { seed: 1, numRuns: 300 },
    );
  });

  it('leaves every example and the template with their lines, and without new problems', () => {
    const texts = readdirSync(EXAMPLES)
      .filter((name) => name.endsWith('.c3.yaml'))
      .map((name) => readFileSync(join(EXAMPLES, name), 'utf8'));
    const keys = toKeptKeys(
      { ...NO_CHANGE, prompts: { reasoner: PROMPT }, sampling: { temperature: 0.5, topK: 20 } },
      runOf(''),
      '/runs',
    );
    for (const text of [...texts, createTemplate()]) {
      const after = setConfigKeys(text, keys);
      assert.deepEqual(checkConfig(after), []);
      const lines = new Set(after.split('\n'));
      const lost = text.split('\n').filter((line) => !lines.has(line));
      // A section on one line has its new keys on that line.
      assert.ok(
        lost.every((line) => line.startsWith('sampling: {')),
        lost.join('\n'),
      );
      assert.deepEqual(listDifferingKeys(after, storedOf(text)), [
        ...(text.includes('\nsampling:') && /temperature: 0\.5/u.test(text) ? [] : ['sampling.temperature']),
        'sampling.top_k',
        'prompts',
      ]);
    }
  });
});

describe('the keys of a change', () => {
  const FOLDER = join('/runs', 'mine');

  it('are those of a configuration', () => {
    const keys = toKeptKeys(
      {
        prompts: { actor: 'Act.' },
        sampling: { topP: 0.9, maxNewTokens: 8 },
        policy: { model: join(FOLDER, 'models', 'other') },
        roles: { reasoner: { snapshot: '3' }, actor: { model: '/elsewhere/model' } },
      },
      runOf(''),
      FOLDER,
    );
    const config = readConfig(setConfigKeys('', keys), 'kept');
    assert.deepEqual(
      [config.prompts, config.sampling.top_p, config.sampling.max_new_tokens, config.model, config.policies],
      [
        { actor: 'Act.' },
        0.9,
        8,
        './models/other',
        {
          reasoner: { kind: 'snapshot', snapshot: '3', run: 'run-1' },
          actor: { kind: 'model', model: '/elsewhere/model' },
        },
      ],
    );
    const server = { endpoint: 'https://api.example.com/v1', model_name: 'gpt-4.1' };
    const served = setConfigKeys('', toKeptKeys({ ...NO_CHANGE, roles: { actor: server } }, runOf(''), FOLDER));
    const { actor } = readConfig(served, 'kept').policies ?? {};
    assert.deepEqual(actor?.kind === 'endpoint' ? [actor.endpoint, actor.model_name, actor.api] : actor, [
      [server.endpoint],
      server.model_name,
      'chat',
    ]);
    // What the role may spend is limited as before; the prices were those of another model.
    const limited =
      '{endpoint: "https://b.example/v1", model_name: b, prices: {input: 1, output: 2}, spending: {money: 3}}';
    const text = `policies:\n  actor: ${limited}\n`;
    assert.equal(
      setConfigKeys(text, toKeptKeys({ ...NO_CHANGE, roles: { actor: server } }, runOf(text), FOLDER)),
      'policies:\n  actor: {endpoint: "https://api.example.com/v1", model_name: gpt-4.1, spending: {money: 3}}\n',
    );
    // A server for the whole team is a policy of each role, asked as the trial asked it.
    const prices = { input: 2, output: 8 };
    const whole = { ...NO_CHANGE, policy: server, roles: { reasoner: { model: '/elsewhere/model' } } };
    const servers = { actor: { api: 'completions', prices } } as const;
    const team = readConfig(setConfigKeys('', toKeptKeys(whole, { ...runOf(''), servers }, FOLDER)), 'kept').policies;
    assert.deepEqual(
      [team?.['reasoner']?.kind, team?.['actor']?.kind === 'endpoint' && [team['actor'].api, team['actor'].prices]],
      ['model', ['completions', prices]],
    );
    // So is an adapter.
    const adapted = { ...NO_CHANGE, policy: { adapter: join(FOLDER, 'adapters', 'own') }, roles: { actor: server } };
    const { reasoner } = readConfig(setConfigKeys('', toKeptKeys(adapted, runOf(''), FOLDER)), 'kept').policies ?? {};
    assert.deepEqual(reasoner, { kind: 'adapter', adapter: './adapters/own' });
    const snapshot = { ...NO_CHANGE, policy: { snapshot: '2' } };
    assert.deepEqual(toKeptKeys(snapshot, runOf('adapter: {}'), FOLDER), [
      { path: ['begin'], value: { run: 'run-1', snapshot: '2' } },
    ]);
  });

  it('are refused in one sentence where no configuration can say the change', () => {
    for (const [change, run, words] of [
      [{ ...NO_CHANGE, sampling: { temperature: 0 } }, runOf(''), /no temperature of 0/u],
      [{ ...NO_CHANGE, sampling: { maxNewTokens: 9 } }, runOf('', CAPPED), /own max_new_tokens for actor/u],
      [{ ...NO_CHANGE, policy: { snapshot: '2' } }, runOf(''), /only if it trains adapters/u],
    ] as const) {
      assert.throws(() => toKeptKeys(change, run, FOLDER), words);
    }
  });
});

describe('a configuration beside what a run used', () => {
  it('differs in the keys that say something else, whatever their form', () => {
    const stored = storedOf('steps: 2\nppo: {epochs: 3}\nprompts: {actor: x}\n');
    assert.deepEqual(listDifferingKeys('prompts:\n  actor: "x"\nppo:\n  epochs: 3\nsteps: 2', stored), []);
    assert.deepEqual(listDifferingKeys('steps: 3\nppo: {epochs: 3}\n', stored), ['steps', 'prompts']);
    assert.deepEqual(listDifferingKeys('steps: 2\nprompts: {actor: y}\n', stored), ['ppo.epochs', 'prompts.actor']);
  });

  it('is not compared where one of them cannot be read', () => {
    assert.equal(listDifferingKeys('steps: many', storedOf('')), null);
    assert.equal(listDifferingKeys('', '{}'), null);
    assert.equal(listDifferingKeys('', 'no json'), null);
  });
});
