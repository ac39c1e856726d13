import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  LONGEST_FORMULA,
  LONGEST_TEXT,
  MOST_FORMULAS,
  splitSegments,
} from '../../../webview/transcript/message/segments.ts';

/** The pieces that are no prose, as `kind:text`. */
function found(text: string): readonly string[] {
  return splitSegments(text)
    .filter(({ kind }) => kind !== 'prose')
    .map(
      ({ kind, text: inner, language, display }) =>
        `${kind}${language === '' ? '' : `(${language})`}${display ? '!' : ''}:${inner}`,
    );
}

test('code lies between fences and between ticks', () => {
  assert.deepEqual(found('So:\n```python\ndef f(x):\n    return x\n```\nDone.'), [
    'block(python):def f(x):\n    return x\n',
  ]);
  assert.deepEqual(found('~~~\na ``` b $x$\n~~~'), ['block:a ``` b $x$\n']);
  assert.deepEqual(
    found('````\n```\ninner\n```\n````\n'),
    ['block:```\ninner\n```\n'],
    'a shorter fence closes nothing',
  );
  assert.deepEqual(found('```c++\r\nint a;\r\n```\r\nend'), ['block(c++):int a;\r\n']);
  assert.deepEqual(found('```\n```'), ['block:']);
  assert.deepEqual(found('use `a` and ``b ` c``.'), ['code:a', 'code:b ` c']);
  assert.deepEqual(found('`$x$` and $`x`$ '), ['code:$x$', 'formula:`x`'], 'nothing is looked for inside');
});

test('what is not closed, or closed by another sign, is prose', () => {
  for (const text of [
    '```python\nx = 1',
    '```\nx\n~~~',
    '````\nx\n```',
    'a ` b',
    '`a\nb`',
    '``a`',
    '$x + 1',
    '$x\n+ 1$',
    '$$x',
    '$$a\n\nb$$',
    '\\(x',
    '\\[x',
    '\\(x\\]',
    '\\boxed{x',
    '\\boxed{{x}',
    '\\boxed{a\n\nb}',
    '```the answer is 42\nx\n```',
  ]) {
    assert.deepEqual(found(text), [], text);
  }
  assert.deepEqual(found('``` open\n`x` and $y_1$'), ['code:x', 'formula:y_1']);
  assert.deepEqual(found('\\(a \\(b\\)'), ['formula:b']);
});

test('mathematics lies between its signs', () => {
  assert.deepEqual(found('Let $x$ be \\(y^2\\), then\n\\[ x = y \\]\nand $$z$$ so \\boxed{\\frac{1}{2}}.'), [
    'formula:x',
    'formula:y^2',
    'formula!: x = y ',
    'formula!:z',
    'formula:\\boxed{\\frac{1}{2}}',
  ]);
  assert.deepEqual(found('$5$, $2x + 3 = 7$, ($ABC$), $a, b, c$, "$\\sin x$"'), [
    'formula:5',
    'formula:2x + 3 = 7',
    'formula:ABC',
    'formula:a, b, c',
    'formula:\\sin x',
  ]);
  assert.deepEqual(found('$\\text{total cost} = \\frac{\\text{price of one}}{2}$'), [
    'formula:\\text{total cost} = \\frac{\\text{price of one}}{2}',
  ]);
  assert.deepEqual(found('\\boxed{\\}}'), ['formula:\\boxed{\\}}'], 'a brace behind a backslash is none');
  assert.equal(splitSegments('a\n\\[x\\]\nb')[1]?.written, '\\[x\\]\n', "the end of its line is the formula's");
});

test('money, escapes, words and what is not seen are no mathematics', () => {
  for (const text of [
    '$5',
    'It costs $5 and she pays $6.',
    'from $5-$6',
    '$5, then 6$',
    '5$ or 6$',
    'US$5 and CA$6',
    '$20,000 to $30,000',
    '$5 and 3$',
    'the $ sign and a $ sign',
    '$ x$',
    '$x $',
    '\\$x$',
    '$x\\$',
    '\\\\(x\\\\)',
    '$HOME/$USER',
    'makes $$ and $$ more',
    '$$$',
    '$$$$',
    '$$ $$',
    '\\[\\]',
    '\\boxed{}',
    '\\boxed{Paris is big}',
    '\\[ total cost is 5 \\]',
    '$\u202ex$',
    '\\(x\u200b\\)',
  ]) {
    assert.deepEqual(found(text), [], text);
  }
});

test('the pieces join to the text, whatever it is', () => {
  const parts = [
    '$',
    '$$',
    '`',
    '```',
    '```py',
    '~~~',
    '\n',
    '\n\n',
    '\\(',
    '\\)',
    '\\[',
    '\\]',
    '\\boxed{',
    '}',
    '{',
    'x',
    ' ',
    '5',
    'and so',
    '\\',
    '\r\n',
    '\u202e',
    '\ud800',
  ];
  let state = 7;
  const next = (): string => parts[(state = (state * 48271) % 2147483647) % parts.length] ?? '';
  for (let round = 0; round < 3_000; round++) {
    const text = Array.from({ length: 1 + (round % 24) }, next).join('');
    const segments = splitSegments(text);
    assert.equal(segments.map(({ written }) => written).join(''), text);
    for (const { written, text: inner } of segments) {
      assert.ok(written.includes(inner));
    }
  }
});

test('there are bounds: in length, in number, and in the work that any text makes', () => {
  const formula = (length: number): string => `$${'x'.repeat(length)}$`;
  assert.equal(found(formula(LONGEST_FORMULA)).length, 1);
  assert.equal(found(formula(LONGEST_FORMULA + 1)).length, 0);
  assert.equal(found('$x$ '.repeat(MOST_FORMULAS + 50)).length, MOST_FORMULAS);
  assert.equal(found(`${'$x$ '.repeat(MOST_FORMULAS)} \`a\``).length, MOST_FORMULAS + 1, 'code is found beyond them');
  assert.deepEqual(
    splitSegments(`$x$${' '.repeat(LONGEST_TEXT)}`).map(({ kind }) => kind),
    ['prose'],
  );
  for (const part of [
    '$',
    '$$',
    '$x ',
    '`',
    '` ``',
    '```a\n',
    '```\n',
    '~~~~a\n```b\n',
    '\\(',
    '\\[',
    '\\(x ',
    '\\boxed{',
    '\\boxed{\\boxed{a b}',
    '{',
    '\n',
    ' \n',
    '$a b$',
    'aa aa$',
    '\\(aaaa',
    '\ud800',
    '\u202e',
  ]) {
    const text = part.repeat(Math.floor(LONGEST_TEXT / part.length));
    for (const whole of [text, `${text.slice(0, -12)}\\)\\]$}\n\`\`\``]) {
      // A square of this length would not come to an end.
      assert.equal(
        splitSegments(whole)
          .map(({ written }) => written)
          .join(''),
        whole,
      );
    }
  }
  const growing = Array.from({ length: 440 }, (_, index) => '`'.repeat(index + 1)).join(' ');
  assert.equal(splitSegments(growing).length, 1);
});
