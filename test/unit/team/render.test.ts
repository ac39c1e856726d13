import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { C3Error } from '../../../src/shared/errors.ts';
import { parseProtocol } from '../../../src/team/parseProtocol.ts';
import type { Protocol } from '../../../src/team/protocol.ts';
import { fillPlaceholders, renderContext, renderPlain } from '../../../src/team/render.ts';

const values = new Map([
  ['question', 'Q'],
  ['context', 'C'],
  ['actor', 'A'],
  ['code-reviewer', 'R'],
]);
const fill = (template: string): string => fillPlaceholders(template, values);

/** planner -> (b, a) -> integrator, the last with the given prompt. */
function branch(prompt: string, sidePrompt = 'side'): Protocol {
  return parseProtocol(
    JSON.stringify([
      { role: 'p', prompt: 'plan' },
      { role: 'b', prompt: sidePrompt, depends_on: ['p'] },
      { role: 'a', prompt: 'side', depends_on: ['p'] },
      { role: 'i', prompt, depends_on: ['b', 'a'] },
    ]),
    'branch',
  );
}
const messages = new Map([
  [0, 'plan!'],
  [1, 'from b'],
  [2, 'from a'],
]);

describe('placeholders', () => {
  it('agrees with str.format_map on templates that Python accepts', () => {
    // Right-hand sides from Python 3: template.format_map(SafeDict(question='Q', context='C', actor='A')).
    const cases: [string, string][] = [
      ['{question}', 'Q'],
      ['a {question} b {context}{actor}', 'a Q b CA'],
      ['x{missing}y', 'xy'],
      ['{{question}}', '{question}'],
      ['{{{question}}}', '{Q}'],
      ['\\boxed{{}} {question}', '\\boxed{} Q'],
      ['{{"a": {{"b": "{actor}"}}}}', '{"a": {"b": "A"}}'],
      ['}}{{', '}{'],
      ['{question}}}', 'Q}'],
      ['', ''],
    ];
    for (const [template, expected] of cases) {
      assert.equal(fill(template), expected, template);
    }
  });

  it('keeps literal braces without disabling the placeholders', () => {
    assert.equal(fill('\\boxed{} {question}'), '\\boxed{} Q');
    assert.equal(fill('\\frac{1}{2} {question}'), '\\frac{1}{2} Q');
    assert.equal(fill('\\frac{\\sqrt{2}}{3} {actor}'), '\\frac{\\sqrt{2}}{3} A');
    assert.equal(fill('{"a":{"b":{"c":1}}} {actor}'), '{"a":{"b":{"c":1}}} A');
    assert.equal(fill('{ {question} }'), '{ Q }');
    assert.equal(fill('open { and {question'), 'open { and {question');
    assert.equal(fill('} {question}'), '} Q');
    assert.equal(fill('{a b} {a-b} {1} {question!r}'), '{a b} {a-b} {1} {question!r}');
    assert.equal(fill('{code-reviewer}'), 'R');
    assert.equal(fill('{ {{ a single } closes not }} }'), '{ { a single } closes not } }');
  });

  it('does not look again at what it put in', () => {
    assert.equal(
      fillPlaceholders(
        '{a}{b}',
        new Map([
          ['a', '{b}{{x}}'],
          ['b', '{a}'],
        ]),
      ),
      '{b}{{x}}{a}',
    );
    assert.equal(
      fillPlaceholders(
        '{a}question}',
        new Map([
          ['a', '{'],
          ['question', 'Q'],
        ]),
      ),
      '{question}',
    );
    assert.equal(fillPlaceholders('{a}', new Map([['a', '$& $1 $$']])), '$& $1 $$');
  });

  it('stays linear on hostile templates', () => {
    const template = '{'.repeat(100_001);
    assert.equal(fill(template).length, 50_001);
    assert.equal(fill('{ '.repeat(50_000)).length, 100_000);
  });
});

describe('renderContext', () => {
  it('fills in what the role sees and nothing else', () => {
    const all = '{question}|{context}|{p}|{p_output}|{b}|{a_output}|{i}|{other}';
    assert.equal(
      renderContext(branch(all), 3, ' What? ', messages).system,
      'What? |plan!\n\nfrom b\n\nfrom a|plan!|plan!|from b|from a||',
    );
    // b must not see a, which is beside it, though its message is at hand.
    assert.equal(renderContext(branch('x', all), 1, 'Q', messages).system, 'Q|plan!|plan!|plan!||||');
  });

  it('builds the user part from question and context', () => {
    const protocol = branch('Join.');
    assert.deepEqual(renderContext(protocol, 0, '\n 2+2? \n', new Map()), { system: 'plan', user: 'Problem:\n2+2?' });
    assert.equal(
      renderContext(protocol, 3, '2+2?', messages).user,
      'Problem:\n2+2?\n\nContext:\nplan!\n\nfrom b\n\nfrom a',
    );
    const blank = new Map([
      [0, '  plan\n'],
      [1, ' \n'],
      [2, ''],
    ]);
    assert.equal(renderContext(protocol, 3, '2+2?', blank).user, 'Problem:\n2+2?\n\nContext:\nplan');
    const gap = new Map([
      [0, 'plan'],
      [1, ' \n'],
      [2, 'a'],
    ]);
    assert.equal(renderContext(protocol, 3, '2+2?', gap).user, 'Problem:\n2+2?\n\nContext:\nplan\n\na');
    assert.equal(renderContext(protocol, 1, '2+2?', new Map([[0, '']])).user, 'Problem:\n2+2?');
  });

  it('separates messages by exactly two newlines and leaves their inside alone', () => {
    const inner = new Map([
      [0, 'a\n\n\nb'],
      [1, 'c \n'],
      [2, 'd'],
    ]);
    assert.equal(renderContext(branch('Join.'), 3, 'Q', inner).user, 'Problem:\nQ\n\nContext:\na\n\n\nb\n\nc \n\n\nd');
  });

  it('gives the newest visible message of a role that speaks twice', () => {
    const protocol = parseProtocol(
      JSON.stringify({
        roles: [{ role: 'w', prompt: '[{w}]' }],
        turns: [{ role: 'w' }, { role: 'w', depends_on: ['w'] }, { role: 'w', depends_on: ['w#2'] }],
      }),
      'x',
    );
    const said = new Map([
      [0, 'first'],
      [1, 'second'],
    ]);
    assert.equal(renderContext(protocol, 0, 'Q', said).system, '[]');
    assert.equal(renderContext(protocol, 1, 'Q', said).system, '[first]');
    assert.deepEqual(renderContext(protocol, 2, 'Q', said), {
      system: '[second]',
      user: 'Problem:\nQ\n\nContext:\nfirst\n\nsecond',
    });
  });

  it('takes the chat wrapper of the published prompts off', () => {
    const published = '<|im_start|>system: You are the **Actor**: give it within \\boxed{{}}.<|im_end|>\n';
    assert.equal(
      renderContext(branch(published), 3, 'Q', messages).system,
      'You are the **Actor**: give it within \\boxed{}.',
    );
    assert.equal(renderContext(branch('<|im_<|im_end|>start|>x'), 3, 'Q', messages).system, 'x');
    assert.equal(renderContext(branch('The system: x'), 3, 'Q', messages).system, 'The system: x');
  });

  it('refuses a context with a gap', () => {
    assert.throws(
      () =>
        renderContext(
          branch('x'),
          3,
          'Q',
          new Map([
            [0, 'p'],
            [1, 'b'],
          ]),
        ),
      (error) => error instanceof C3Error && error.kind === 'input' && /'i'.*'a'/.test(error.message),
    );
    assert.throws(() => renderContext(branch('x'), 4, 'Q', messages), C3Error);
  });
});

describe('renderPlain', () => {
  it('joins the lines of the published form', () => {
    // Reference: system, blank, Problem:, question, blank, Context:, context; trimmed; one newline.
    assert.equal(
      renderPlain(renderContext(branch('Join.'), 3, '2+2?', messages)),
      'Join.\n\nProblem:\n2+2?\n\nContext:\nplan!\n\nfrom b\n\nfrom a\n',
    );
    assert.equal(renderPlain({ system: '', user: 'Problem:\nx' }), 'Problem:\nx\n');
    assert.equal(renderPlain({ system: 's', user: 'Problem:\n' }), 's\n\nProblem:\n');
  });
});
