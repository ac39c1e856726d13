import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRational, isSameRational } from '../../../../../src/evaluate/math/exact/rational.ts';

/** `n/d` of a text, or null. */
function parsed(text: string): string | null {
  const number = parseRational(text);
  return number === null ? null : `${number.numerator}/${number.denominator}`;
}

test('integers, decimals, fractions and their dress are read exactly', () => {
  const vectors: [string, string][] = [
    ['0', '0/1'],
    ['-0', '0/1'],
    ['7', '7/1'],
    ['007', '7/1'],
    ['+7', '7/1'],
    ['-7', '-7/1'],
    ['- 7', '-7/1'],
    ['\u22127', '-7/1'],
    [' 12 ', '12/1'],
    ['0.1', '1/10'],
    ['.5', '1/2'],
    ['5.', '5/1'],
    ['3.40', '17/5'],
    ['-2.50', '-5/2'],
    ['1,234', '1234/1'],
    ['12,345,678.25', '49382713/4'],
    ['$1,000', '1000/1'],
    ['-$5', '-5/1'],
    ['$-5', '-5/1'],
    ['\\$5', '5/1'],
    ['50%', '1/2'],
    ['12.5 %', '1/8'],
    ['50\\%', '1/2'],
    ['-1%', '-1/100'],
    ['6/4', '3/2'],
    ['-6 / 4', '-3/2'],
    ['0/5', '0/1'],
    ['1,000/2', '500/1'],
    ['1 1/2', '3/2'],
    ['-1 1/2', '-3/2'],
    ['\\frac{6}{4}', '3/2'],
    ['-\\dfrac{1}{2}', '-1/2'],
    ['1\\tfrac{1}{2}', '3/2'],
    ['9007199254740993', '9007199254740993/1'],
    [`0.${'3'.repeat(40)}`, `${'3'.repeat(40)}/1${'0'.repeat(40)}`],
  ];
  for (const [text, expected] of vectors) {
    assert.equal(parsed(text), expected, text);
  }
});

test('everything else is no number', () => {
  const texts = [
    '',
    ' ',
    '.',
    '-',
    '$',
    '%',
    '--5',
    '+-5',
    '-$-5',
    '$$5',
    '5-',
    '5%%',
    '%5',
    '5$',
    '1,23',
    '12,34',
    '1234,567',
    ',123',
    '0,123',
    '1,,234',
    '1.2.3',
    '1.234,5',
    '1 234',
    '1/0',
    '1 1/0',
    '\\frac{1}{0}',
    '1/',
    '/2',
    '1/2/3',
    '1/-2',
    '0.5/2',
    '1e3',
    '0x10',
    '1_000',
    'NaN',
    'Infinity',
    '12n',
    '1+1',
    '2*3',
    '2^3',
    '(5)',
    '5 apples',
    'five',
    '\u0665',
    '\uff15',
    '1\n2',
    'process.exit(1)',
    '9'.repeat(201),
  ];
  for (const text of texts) {
    assert.equal(parsed(text), null, JSON.stringify(text));
  }
  assert.equal(parsed('9'.repeat(200)), `${'9'.repeat(200)}/1`);
});

test('fractions are equal exactly when their cross products are', () => {
  const pairs: [number, number][] = [];
  for (let numerator = -9; numerator <= 9; numerator++) {
    for (let denominator = 1; denominator <= 9; denominator++) {
      pairs.push([numerator, denominator]);
    }
  }
  for (const [a, b] of pairs) {
    for (const [c, d] of pairs) {
      const left = parseRational(`${a}/${b}`);
      const right = parseRational(`${c}/${d}`);
      assert.ok(left !== null && right !== null);
      assert.equal(isSameRational(left, right), a * d === b * c, `${a}/${b} and ${c}/${d}`);
    }
  }
});

test('decimals of hundredths equal their fraction and no neighbour', () => {
  for (let hundredths = 0; hundredths <= 300; hundredths++) {
    const decimal = parseRational((hundredths / 100).toFixed(2));
    assert.ok(decimal !== null);
    for (const other of [hundredths - 1, hundredths, hundredths + 1]) {
      const fraction = parseRational(`${other}/100`);
      assert.ok(fraction !== null);
      assert.equal(isSameRational(decimal, fraction), other === hundredths);
    }
  }
});
