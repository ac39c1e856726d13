import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseChineseNumber, normalizeCharacters } from '../../../../src/evaluate/math/characters.ts';

/** How Chinese writes a whole number below 10^8: sections of four places, one zero for any run of empty places. */
function written(value: number): string {
  const digits = '零一二三四五六七八九';
  const section = (part: number): string => {
    let text = '';
    let gap = false;
    for (const [size, place] of [
      [1000, '千'],
      [100, '百'],
      [10, '十'],
      [1, ''],
    ] as const) {
      const digit = Math.floor(part / size) % 10;
      if (digit === 0) {
        gap = text !== '';
      } else {
        text += `${gap ? '零' : ''}${digits.charAt(digit)}${place}`;
        gap = false;
      }
    }
    return text;
  };
  const [high, low] = [Math.floor(value / 10_000), value % 10_000];
  if (value === 0) {
    return '零';
  }
  const text = high === 0 ? section(low) : `${section(high)}万${low > 0 && low < 1000 ? '零' : ''}${section(low)}`;
  return text.replace(/^一十/u, '十');
}

test('every whole number that Chinese writes in words is read back', () => {
  assert.deepEqual(
    [written(25), written(503), written(10_010), written(12_000)],
    ['二十五', '五百零三', '一万零一十', '一万二千'],
  );
  for (let value = 0; value < 20_000; value++) {
    assert.equal(parseChineseNumber(written(value)), String(value), written(value));
  }
  for (let value = 20_000; value < 100_000_000; value += 77_777) {
    assert.equal(parseChineseNumber(written(value)), String(value), written(value));
  }
});

test('fractions, percentages, decimals and signs; what is ambiguous or no number is none', () => {
  const cases: [string, string | null][] = [
    ['三分之一', '1/3'],
    ['百分之五十', '50/100'],
    ['负三', '-3'],
    ['零点五', '0.5'],
    ['三点一四', '3.14'],
    ['一半', '1/2'],
    ['两千', '2000'],
    ['三亿五千万', '350000000'],
    ['〇', '0'],
    // Said for 25,000 and 3,500, read as 20,005 by a machine.
    ['二万五', null],
    ['三千五', null],
    ['三角形', null],
    ['一二', null],
    ['万', null],
    ['百', null],
    ['十百', null],
    ['五百三千', null],
    ['零分之一', null],
    ['三分之一分之二', null],
    ['点五', null],
    ['五点', null],
    ['', null],
    ['几', null],
  ];
  for (const [text, expected] of cases) {
    assert.equal(parseChineseNumber(text), expected, text);
  }
});

test('characters that mean the same get one spelling', () => {
  const cases: [string, string][] = [
    ['\u22123', '-3'],
    ['３．５％', '3.5%'],
    ['x²', 'x^{2}'],
    ['2⁻¹', '2^{-1}'],
    ['½', '\\frac{1}{2}'],
    ['1\u200b2', '12'],
    ['（1，2）', '(1,2)'],
    ['3、4', '3,4'],
    ['\ufdfa', ''],
    ['1\u202f234', '1\\,234'],
  ];
  for (const [text, expected] of cases) {
    assert.equal(normalizeCharacters(text), expected, text);
  }
});
