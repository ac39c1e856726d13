import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toSymbol } from '../../../src/diagnostics/canonical.ts';
import {
  measureAnswerInfluence,
  CODE_INFLUENCE,
  measureContextInfluences,
  measureInfluence,
  millerMadowInformation,
  PAPER_INFLUENCE,
  measurePublishedInfluence,
  smoothedInformation,
} from '../../../src/diagnostics/influence.ts';
import { bucket } from './buckets.ts';

const close = (actual: number | null | undefined, expected: number): void =>
  assert.ok(typeof actual === 'number' && Math.abs(actual - expected) <= 1e-9, `${String(actual)} is not ${expected}`);
const letters = (...words: string[]): string[][] => words.map((word) => Array.from(word));
/** 200 contexts of 8 alternatives whose next messages are all different. */
const UNIQUE = Array.from({ length: 200 }, (_, b) =>
  bucket({ next: Array.from({ length: 8 }, (__, j) => [`message ${b} ${j}`]), id: String(b) }),
);

describe('influence', () => {
  it('gives the published vectors', () => {
    const three = letters('xx', 'yy', 'xy');
    close(smoothedInformation(three, { ...CODE_INFLUENCE, alpha: 1 }), 0.06976641916860632);
    close(smoothedInformation(three, CODE_INFLUENCE), 0.43911311040374323);
    close(smoothedInformation(letters('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'), CODE_INFLUENCE), 1.697584276816273);
    close(smoothedInformation(letters('xx', 'xx', 'xx'), CODE_INFLUENCE), 0);
    const mean = measurePublishedInfluence(UNIQUE);
    assert.ok(Math.abs((mean ?? NaN) - 0.04486) < 5e-6, String(mean));
  });

  it('is not measured for one alternative, or without a next message', () => {
    for (const symbols of [letters('xy'), [[], []]]) {
      assert.equal(smoothedInformation(symbols, { ...CODE_INFLUENCE, alpha: 1 }), null);
    }
  });

  it('weights alternatives alike as the paper has it, or by their samples as the code has it', () => {
    // By the formula of appendix J in another language, vocabulary a, b.
    const unequal = letters('aab', 'bbc', 'abcad');
    close(smoothedInformation(unequal, PAPER_INFLUENCE, ['a', 'b']), 0.28897033629199675);
    close(smoothedInformation(unequal, CODE_INFLUENCE, ['a', 'b']), 0.2519652920737212);
    close(
      smoothedInformation(letters('xx', 'yx'), PAPER_INFLUENCE),
      smoothedInformation(letters('xx', 'yx'), CODE_INFLUENCE) ?? NaN,
    );
  });

  it('keeps the most frequent symbols, of equals the first, one vocabulary for all contexts', () => {
    const two = [
      bucket({
        next: [
          ['a', 'a'],
          ['b', 'b'],
        ],
      }),
      bucket({ next: [['c'], ['a']] }),
    ];
    const settings = { ...PAPER_INFLUENCE, topK: 2 };
    assert.deepEqual(measureContextInfluences(two, settings), [
      smoothedInformation(letters('aa', 'bb'), settings, ['a', 'b']),
      smoothedInformation(letters('c', 'a'), settings, ['a', 'b']),
    ]);
    const found = measureInfluence(two, settings);
    assert.deepEqual(found.vocabulary, { symbols: 3, samples: 6, other: 1 / 6, single: 1 / 6 });
    assert.deepEqual([found.value?.n, found.leftOut, found.warning], [2, 0, null]);
  });

  it('warns where the vocabulary collapses', () => {
    assert.match(measureInfluence(UNIQUE, PAPER_INFLUENCE).warning ?? '', /96 % of the next messages fall to OTHER/);
    assert.match(
      measureInfluence(UNIQUE.slice(0, 4), PAPER_INFLUENCE).warning ?? '',
      /100 % of the next messages came once only/,
    );
  });

  it('leaves out what cannot be measured; the published mean counts it as 0', () => {
    const three = [
      bucket({
        next: [
          ['a', 'a'],
          ['b', 'b'],
        ],
      }),
      bucket({ next: [['a'], []] }),
      bucket({ next: [['a'], ['b']], credited: 1 }),
    ];
    const found = measureInfluence(three, PAPER_INFLUENCE);
    assert.deepEqual([found.value?.n, found.leftOut], [1, 2]);
    assert.deepEqual(
      measureContextInfluences(three, PAPER_INFLUENCE).map((one) => one === null),
      [false, true, true],
    );
    assert.ok((measurePublishedInfluence(three) ?? NaN) < (found.value?.value ?? NaN));
    assert.deepEqual(measureInfluence([bucket({ returns: [[1], [0]] })], PAPER_INFLUENCE), {
      value: null,
      leftOut: 1,
      vocabulary: null,
      warning: null,
    });
    assert.deepEqual([smoothedInformation([], PAPER_INFLUENCE), measurePublishedInfluence([])], [null, null]);
  });

  it('corrects the plug-in estimate as Miller and Madow do, not cut at 0', () => {
    const symbols = letters('aab', 'bbc', '', 'abca');
    close(millerMadowInformation(symbols), 0.18513238390920764);
    close(millerMadowInformation(symbols, false), 0.27957682835365205);
    // ln 2 plug-in, and a correction of 1/2N - 0 for two alternatives that never overlap.
    close(millerMadowInformation(letters('aa', 'bb')), Math.LN2 + 1 / 8);
    assert.ok((millerMadowInformation(letters('abcd', 'abcd')) ?? 0) < 0);
    assert.equal(millerMadowInformation(letters('ab')), null);
    const answers = measureAnswerInfluence(
      [
        bucket({
          next: [
            ['answer 1', 'so 1'],
            ['well 2', '2'],
          ],
        }),
        bucket({ next: [['3']] }),
      ],
      (text) => text.slice(-1),
    );
    close(answers.value?.value, Math.LN2 + 1 / 8);
    assert.equal(answers.leftOut, 1);
  });

  it('says nothing of answers in contexts where no message states one', () => {
    const stated = bucket({
      next: [
        ['=1', '=1'],
        ['=2', 'well'],
      ],
    });
    const silent = bucket({
      next: [
        ['well', 'so'],
        ['hm', 'well'],
      ],
    });
    const answerOf = (text: string): string | null => (text.startsWith('=') ? text : null);
    const both = measureAnswerInfluence([stated, silent], answerOf);
    assert.deepEqual([both.value?.n, both.leftOut], [1, 1]);
    close(
      both.value?.value,
      millerMadowInformation([
        ['=1', '=1'],
        ['=2', '<NONE>'],
      ]) ?? NaN,
    );
    assert.deepEqual(measureAnswerInfluence([silent], answerOf), { value: null, leftOut: 1 });
  });
});

describe('canonical forms', () => {
  it("the paper's: NFKC, whitespace collapsed, trimmed, 256 characters, EMPTY", () => {
    assert.equal(toSymbol('  ﬁve\u00a0\t times\n\nＡ ', 'paper'), 'five times A');
    assert.equal(toSymbol(' \n\u2003', 'paper'), 'EMPTY');
    assert.equal(toSymbol('😀'.repeat(300), 'paper'), '😀'.repeat(256));
  });

  it("the published code's: sanitised, without fences and blank runs, uncut", () => {
    const forms = [
      ['a  b \t c  \r\n\r\n\r\n\n d', 'a b c\n\n d'],
      ['```js\nlet x = 1\n```\nend', 'let x = 1\n\nend'],
      ['see ```python\nprint(1)\n``` here', 'see\n here'],
      ['Actor: Final Answer: 7', '7'],
      ['**Actor** 411 im_end', '411'],
      ['ok\nValueError: no\n-----\ndone', 'ok\ndone'],
      ['\\text{ 5 cm }<|im_end|>', '5 cm'],
      ['', ''],
    ] as const;
    for (const [text, form] of forms) {
      assert.equal(toSymbol(text, 'code'), form, JSON.stringify(text));
    }
    assert.equal(toSymbol('x'.repeat(300), 'code').length, 300);
  });
});
