import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SaidEvent } from '../../../src/domain/episode.ts';
import type { Problem } from '../../../src/domain/problem.ts';
import type { EnvironmentOutcome } from '../../../src/environment/kind.ts';
import { ENVIRONMENT_KINDS, findEnvironmentKind } from '../../../src/environment/kinds.ts';
import { problems } from '../replay/helpers.ts';

const [INSTANCE = assert.fail()] = problems(1);

async function outcome(
  name: string,
  texts: readonly string[],
  options: Readonly<Record<string, string>> = {},
  {
    reward,
    uniform = 0,
    problem = INSTANCE,
  }: { readonly reward?: number | null; readonly uniform?: number; readonly problem?: Problem } = {},
): Promise<EnvironmentOutcome> {
  const kind = findEnvironmentKind(name) ?? assert.fail(name);
  const messages = texts.map((text, position): SaidEvent => ({
    kind: 'decision',
    position,
    role: `role${position}`,
    text,
    ...(reward !== undefined && { reward }),
  }));
  const defaults = Object.fromEntries(
    Object.entries(kind.options).map(([key, values]): [string, string] => [
      key,
      'number' in values ? values.number : values[0],
    ]),
  );
  return kind.run({ problem, log: messages, messages, options: { ...defaults, ...options }, uniform: () => uniform });
}

describe('the calculator', () => {
  const answer = async (text: string, options = {}): Promise<string> =>
    (await outcome('calculator', [text], options)).text;

  it('computes the last call of a message, or a message that is an expression', async () => {
    assert.equal(await answer('First calc(1+1), then calc(2 + 3*4).'), '2 + 3*4 = 14');
    assert.equal(await answer('2+3*4', { reading: 'left_to_right' }), '2+3*4 = 20');
    assert.equal(await answer('-2*3-4'), '-2*3-4 = -10');
    assert.equal(await answer('8/4/2'), '8/4/2 = 1');
    assert.equal(
      await answer('999999999999999*999999999999999'),
      '999999999999999*999999999999999 = 999999999999998000000000000001',
    );
  });

  it('gives no number where there is none, and evaluates nothing', async () => {
    assert.equal(await answer('calc(1/0)'), '1/0 = no number');
    assert.equal(await answer('calc(7/2)'), '7/2 = no number');
    for (const text of ['calc(process.exit)', 'calc(2**3)', 'calc(1e9)', 'calc(0x10)', `calc(1${'+1'.repeat(98)}+)`]) {
      assert.equal(await answer(text), 'The calculator knows whole numbers with + - * / only.');
    }
  });

  it('ends a loop where nothing is asked, unless it is to continue', async () => {
    assert.equal((await outcome('calculator', ['The answer is 4.'])).done, 'nothing was asked of the calculator');
    assert.equal((await outcome('calculator', ['The answer.'], { unasked: 'continue' })).done, undefined);
    assert.equal((await outcome('calculator', [])).text, '');
  });
});

describe('a vote', () => {
  const answers = async (texts: readonly string[], ties: string, uniform = 0): Promise<readonly string[] | undefined> =>
    (await outcome('vote', texts, { ties }, { uniform })).answers;

  it('takes the answer of most, with equal numbers as one', async () => {
    assert.deepEqual(await answers(['#### 4', '#### 8/2', '#### 5', 'none'], 'first'), ['#### 4']);
    assert.deepEqual(await answers(['nothing', ''], 'first'), []);
  });

  it('has four ways with a tie', async () => {
    const tie = ['#### 4', '#### 5', '#### 5', '#### 4'];
    assert.deepEqual(await answers(tie, 'first'), ['#### 4']);
    assert.deepEqual(await answers(tie, 'expected'), ['#### 4', '#### 5']);
    assert.deepEqual(await answers(tie, 'abstain'), []);
    assert.deepEqual(await answers(tie, 'seeded', 0.99), ['#### 5']);
  });
});

it('feedback says what the evaluator gave', async () => {
  const text = async (reward: number | null, show = 'verdict'): Promise<string> =>
    (await outcome('feedback', ['x'], { show }, { reward })).text;
  assert.deepEqual(
    [await text(1), await text(0), await text(null), await text(0.5, 'score')],
    ['Right.', 'Wrong, try again.', 'This could not be scored.', 'Score: 0.5 of 1.'],
  );
});

it('code of several messages becomes one program', async () => {
  const { text } = await outcome('join', [
    'Helper:\n```python\ndef f():\n  return 1\n```',
    '```python\ndef g():\n  return f()\n```',
  ]);
  assert.equal(text, '```python\ndef f():\n  return 1\n\n\ndef g():\n  return f()\n```');
});

it('every environment has a name of its own, words, and options with values', () => {
  assert.equal(new Set(ENVIRONMENT_KINDS.map(({ name }) => name)).size, ENVIRONMENT_KINDS.length);
  for (const { words, options } of ENVIRONMENT_KINDS) {
    assert.match(words, /^[A-Z].*\.$/);
    assert.ok(
      Object.values(options).every((values) =>
        'number' in values ? /^-?\d+$/u.test(values.number) : values.length > 0,
      ),
    );
  }
});

describe('the referee', () => {
  it('says of the newest guess what AR-Bench says, and ends with the right one', async () => {
    const secret = { ...INSTANCE, answer: 'secret number 6850' };
    const said = (texts: readonly string[], options = {}): Promise<EnvironmentOutcome> =>
      outcome('referee', texts, options, { problem: secret });
    assert.deepEqual(await said(['Guess: 6850', 'Guess: 5680']), {
      text: '5680: 1 in place, 3 elsewhere.',
      json: { guess: '5680', inPlace: 1, elsewhere: 3 },
    });
    assert.equal(
      (await said(['Guess: 1234'], { words: 'published' })).text,
      '0 digits are present in the answer and in the correct positions\n0 digits are present in the answer but in the different positions',
    );
    assert.equal((await said(['Guess: 6850'])).done, 'the guess is right');
    assert.deepEqual(await said(['six']), {
      text: 'No guess of 4 digits. Write one such as Guess: 0123',
      json: { guess: null },
    });
    await assert.rejects(outcome('referee', ['Guess: 1234']), /is no secret number such as/u);
  });
});
