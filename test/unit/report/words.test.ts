import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Interval } from '../../../src/domain/credit.ts';
import { Allowance } from '../../../src/report/allowance.ts';
import { barsPicture } from '../../../src/report/bars.ts';
import { count, formatReturn, signed, escapeVerbatim } from '../../../src/report/words.ts';
import { assertBalanced } from './page.ts';

const interval = (value: number, low: number | null = null, high: number | null = null): Interval => ({
  value,
  low,
  high,
  n: 8,
});

describe('words', () => {
  it('keeps a text whole, as text, and shows what could not be seen', () => {
    assert.equal(escapeVerbatim('a < b && "c" > d\n\tend'), 'a &lt; b &amp;&amp; "c" &gt; d\n\tend');
    const shown = (code: string): string => `<i class="code-point">${code}</i>`;
    assert.equal(escapeVerbatim('\u001b[31m'), `${shown('U+001B')}[31m`);
    assert.equal(escapeVerbatim('a\u202eb\u2066c\ufeff'), `a${shown('U+202E')}b${shown('U+2066')}c${shown('U+FEFF')}`);
    assert.equal(escapeVerbatim('\ud83d!\udc69'), `${shown('U+D83D')}!${shown('U+DC69')}`);
    assert.equal(escapeVerbatim('\r\n\u2028\u0000'), `${shown('U+000D')}\n${shown('U+2028')}${shown('U+0000')}`);
    assert.equal(
      escapeVerbatim('\u{1f469}\u200d\u{1f4bb} \u0646\u200c\u0645'),
      '\u{1f469}\u200d\u{1f4bb} \u0646\u200c\u0645',
    );
  });

  it('writes numbers with true signs', () => {
    assert.deepEqual([signed(0.25), signed(-0.5), signed(0)], ['+0.250', '\u22120.500', '0.000']);
    assert.deepEqual([formatReturn(null), formatReturn(1), formatReturn(-1 / 3)], ['masked', '1', '\u22120.3333']);
    assert.deepEqual([count(1234567), count(-3)], ['1,234,567', '\u22123']);
  });
});

describe('Allowance', () => {
  it('never cuts a character in two, and counts what is left out', () => {
    assert.deepEqual(new Allowance().excerpt('ab\u{1f469}cd', 3), { text: 'ab', leftOut: 4 });
    assert.deepEqual(new Allowance().excerpt('ab\u{1f469}cd', 4), { text: 'ab\u{1f469}', leftOut: 2 });
    assert.deepEqual(new Allowance().excerpt('abc', 3), { text: 'abc', leftOut: 0 });
  });

  it('bounds all texts of a report together', () => {
    const allowance = new Allowance();
    const megabyte = 'x'.repeat(1_000_000);
    for (let index = 0; index < 4; index++) {
      assert.equal(allowance.excerpt(megabyte, 2_000_000).leftOut, 0);
    }
    assert.deepEqual(allowance.excerpt('more', 10), { text: '', leftOut: 4 });
    allowance.omit('things', 2);
    allowance.omit('others', 0);
    allowance.omit('things', 3);
    assert.deepEqual(allowance.leftOut, [{ what: 'things', count: 5 }]);
  });
});

describe('barsPicture', () => {
  const drawn =
    barsPicture(
      'b',
      'Credit',
      [
        { label: 'good <b>', value: interval(0.5, 0.25, 1) },
        { label: 'bad', value: interval(-1, -1, -0.5) },
        { label: 'unknown', value: null },
      ],
      signed,
      'credit',
    ) ?? '';
  const bars = [...drawn.matchAll(/<rect class="fill (\w+)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/gu)].map(
    ([, side, x, width]) => ({ side, x: Number(x), width: Number(width) }),
  );

  it('draws bars from 0 to either side, as long as their values say', () => {
    const [good, bad] = bars;
    assert.deepEqual(
      bars.map(({ side }) => side),
      ['above', 'below'],
    );
    assert.ok(good !== undefined && bad !== undefined);
    assert.ok(Math.abs(good.x - (bad.x + bad.width)) < 0.2, 'both begin at 0');
    assert.ok(Math.abs(bad.width - 2 * good.width) < 0.3, `${bad.width} is twice ${good.width}`);
    // The whiskers of the first: from a quarter to one.
    const [, low = '', high = ''] = /class="whisker" d="M([\d.]+) [\d.]+H([\d.]+)/u.exec(drawn) ?? [];
    assert.ok(
      Math.abs(Number(low) - (good.x + good.width / 2)) < 0.3 &&
        Math.abs(Number(high) - (good.x + 2 * good.width)) < 0.3,
    );
  });

  it('fades a bar whose interval holds 0', () => {
    const faded = (low: number, high: number): boolean =>
      / open"/u.test(barsPicture('b', 'n', [{ label: 'a', value: interval(0.5, low, high) }], signed, 'credit') ?? '');
    assert.deepEqual([faded(-0.1, 1), faded(0, 1), faded(0.1, 1)], [true, true, false]);
  });

  it('draws nothing below the edge of the picture', () => {
    const height = Number(/viewBox="0 0 [\d.]+ ([\d.]+)"/u.exec(drawn)?.[1]);
    const places = [...drawn.matchAll(/ y="([\d.]+)"/gu)].map(([, y]) => Number(y));
    assert.ok(places.length > 3 && places.every((y) => y < height), `${Math.max(...places)} of ${height}`);
  });

  it('names what it shows for those who cannot see it, and what was not measured', () => {
    assertBalanced(drawn);
    assert.match(
      drawn,
      /<desc id="b-words">good &lt;b&gt;: \+0\.500; bad: \u22121\.000; unknown: not measured\.<\/desc>/u,
    );
    assert.equal(drawn.match(/>not measured</gu)?.length, 1);
  });

  it('is no picture where nothing was measured, and holds no coordinate that is no number', () => {
    assert.equal(barsPicture('b', 'n', [{ label: 'a', value: null }], signed, 'credit'), null);
    assert.equal(barsPicture('b', 'n', [], signed, 'credit'), null);
    assert.equal(barsPicture('b', 'n', [{ label: 'a', value: interval(Number.NaN) }], signed, 'credit'), null);
    assert.doesNotMatch(
      barsPicture('b', 'n', [{ label: 'a', value: interval(0, 0, 0) }], signed, 'credit') ?? '',
      /NaN|Infinity/u,
    );
  });
});
