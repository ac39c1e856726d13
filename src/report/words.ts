/**
 * Writes numbers and untrusted text for report pages. Pure: text out, without anything that a
 * browser could take for markup.
 */

import * as figures from '../shared/text/figures.ts';
import { toOneLine } from '../shared/text/oneLine.ts';

export { formatDecimal as decimal } from '../shared/text/figures.ts';

export const NOT_MEASURED = 'not measured';

/**
 * Escapes untrusted text for HTML or SVG: one line of limited length, with control characters
 * shown, and without markup or the end of an attribute.
 */
export function escapeText(text: string, limit = 200): string {
  const entities: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  };
  return toOneLine(text, limit)
    .toWellFormed()
    .replaceAll(/[&<>"']/gu, (character) => entities[character] ?? '');
}

/** Writes a share in percent, without the sign: `54.5`. */
export const percentage = (share: number): string => {
  const text = (100 * share).toFixed(1);
  return text === '-0.0' ? '0.0' : text.replace('-', '\u2212');
};

/**
 * Writes a number of tokens or calls in three digits: `830`, `12.3k`, `1.20M`.
 * @param bare leaves out zeros at the end: `1.2M`
 */
export function formatCompact(value: number, bare = false): string {
  const size = Math.abs(value);
  const [divisor, unit] = size >= 999_500 ? [1e6, 'M'] : size >= 999.5 ? [1e3, 'k'] : [1, ''];
  const scaled = value / divisor;
  const digits =
    unit === '' ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.max(1, Math.abs(Number(scaled.toPrecision(3)))))));
  return `${scaled.toLocaleString('en-US', { minimumFractionDigits: bare ? 0 : digits, maximumFractionDigits: digits })}${unit}`
    .replace(/^-0$/u, '0')
    .replace('-', '\u2212');
}

/** Writes a number with its sign: `+0.250`, `−0.500`, `0.000`. */
export const signed = (value: number, digits = 3): string => figures.formatSigned(value, digits);

/** Writes a whole number with thousands separators. */
export const count = (value: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: 0 }).replace('-', '\u2212');

/** Writes a return in at most four digits, or `masked`. */
export const formatReturn = (value: number | null): string =>
  value === null ? 'masked' : String(Number(value.toPrecision(4))).replace('-', '\u2212');

/**
 * Escapes untrusted text for the content of a `pre` element. All of it is kept, including line ends
 * and tabs. Invisible characters and those that could reverse their surroundings (controls,
 * direction marks, unpaired surrogates) are shown as code points. The two joiners that scripts and
 * emoji need are kept.
 */
export function escapeVerbatim(text: string): string {
  return text.replaceAll(/[&<>]|[^\P{Cc}\n\t]|[^\P{Cf}\u200C\u200D]|[\u2028\u2029]|\p{Cs}/gu, (character) => {
    if (character === '&') {
      return '&amp;';
    }
    if (character === '<') {
      return '&lt;';
    }
    if (character === '>') {
      return '&gt;';
    }
    return `<i class="code-point">U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}</i>`;
  });
}
