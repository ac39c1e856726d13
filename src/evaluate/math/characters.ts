/** Gives characters with the same meaning one spelling before a text is read as mathematics. */

/** Replaced one by one before compatibility forms are composed, which would turn x\u00b2 into x2. */
const SAME: Readonly<Record<string, string>> = {
  '\u2212': '-',
  '\ufe63': '-',
  '\u2010': '-',
  '\u2011': '-',
  '\u2013': '-',
  '\u2014': '-',
  '\u00d7': '*',
  '\u00b7': '*',
  '\u22c5': '*',
  '\u2219': '*',
  '\u2217': '*',
  '\u00f7': '/',
  '\u2215': '/',
  '\u2044': '/',
  '\u2264': '\\le ',
  '\u2a7d': '\\le ',
  '\u2265': '\\ge ',
  '\u2a7e': '\\ge ',
  '\u2260': '\\ne ',
  '\u2248': '\\approx ',
  '\u221e': '\\infty ',
  '\u222a': '\\cup ',
  '\u2208': '\\in ',
  '\u2205': '\\emptyset ',
  '\u00b1': '\\pm ',
  '\u2213': '\\mp ',
  '\u221a': '\\surd ',
  '\u221b': '\\cbrt ',
  '\u00b0': '\\degree ',
  '\u00ba': '\\degree ',
  '\u2103': '\\degree C',
  '\u2109': '\\degree F',
  '\u211d': '\\mathbb{R}',
  '\u3001': ',',
  '\u202f': '\\,',
  '\u2009': '\\,',
  '\u2032': "'",
  '\u2019': "'",
  '\u300c': '"',
  '\u300d': '"',
  '\u201c': '"',
  '\u201d': '"',
  '\uffe5': '\u00a5',
};

const SCRIPTS = '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b\u207a\u207f';
const SCRIPT_VALUES = '0123456789-+n';

const VULGAR: Readonly<Record<string, string>> = {
  '\u00bd': '1 2',
  '\u2153': '1 3',
  '\u2154': '2 3',
  '\u00bc': '1 4',
  '\u00be': '3 4',
  '\u2155': '1 5',
  '\u2156': '2 5',
  '\u2157': '3 5',
  '\u2158': '4 5',
  '\u2159': '1 6',
  '\u215a': '5 6',
  '\u215b': '1 8',
  '\u215c': '3 8',
  '\u215d': '5 8',
  '\u215e': '7 8',
};

/**
 * Replaces characters from keyboards, web pages and Chinese texts with plain characters and LaTeX
 * names. The result is at most eight times as long.
 */
export function normalizeCharacters(text: string): string {
  let plain = '';
  let raised = false;
  for (const character of text) {
    const script = SCRIPTS.indexOf(character);
    if (script >= 0 !== raised) {
      plain += raised ? '}' : '^{';
    }
    raised = script >= 0;
    plain += raised ? SCRIPT_VALUES.charAt(script) : spellCharacter(character);
  }
  return raised ? `${plain}}` : plain;
}

function spellCharacter(character: string): string {
  const vulgar = VULGAR[character];
  if (vulgar !== undefined) {
    return `\\frac{${vulgar.replace(' ', '}{')}}`;
  }
  const same = SAME[character];
  if (same !== undefined) {
    return same;
  }
  const composed = character.normalize('NFKC');
  // Invisible characters (joiners, direction marks) have no meaning; some compatibility forms are long
  // words, which are not mathematics.
  return /\p{Cf}/u.test(character) || composed.length > 8 ? '' : composed;
}

const DIGITS = '零一二三四五六七八九';
/** The powers of ten that Chinese names; those from 10,000 on multiply everything before them. */
const PLACES: Readonly<Record<string, bigint>> = { 十: 10n, 百: 100n, 千: 1000n, 万: 10n ** 4n, 亿: 10n ** 8n };

/**
 * Returns the decimal or fraction of a plain Chinese numeral, in digits: 二十五 is 25, 三分之一 is 1/3, 百分之十
 * is 10/100, 零点五 is 0.5, 一半 is 1/2.
 * @returns null for everything else
 */
export function parseChineseNumber(text: string): string | null {
  if (text === '一半') {
    return '1/2';
  }
  const sign = text.startsWith('负') ? '-' : '';
  const [first, second, third] = text.slice(sign.length).split('分之');
  if (first === undefined || third !== undefined) {
    return null;
  }
  if (second === undefined) {
    const number = parseChineseDecimal(first);
    return number === null ? null : `${sign}${number}`;
  }
  const below = first === '百' ? 100n : parseChineseInteger(first);
  const above = second.includes('点') ? null : parseChineseInteger(second);
  return below === null || above === null || below === 0n ? null : `${sign}${above}/${below}`;
}

function parseChineseDecimal(text: string): string | null {
  const [before, after, more] = text.split('点');
  const number = parseChineseInteger(before ?? '');
  if (number === null || more !== undefined) {
    return null;
  }
  if (after === undefined) {
    return String(number);
  }
  const digits = Array.from(after, (character) => DIGITS.indexOf(character.replace('〇', '零')));
  return digits.length === 0 || digits.includes(-1) ? null : `${number}.${digits.join('')}`;
}

function parseChineseInteger(text: string): bigint | null {
  let total = 0n;
  let section = 0n;
  let digit: bigint | null = null;
  // Places must fall within a section and from section to section; a last digit is below ten or after a
  // zero.
  let place = 10n ** 9n;
  let sectionPlace = 10_000n;
  let afterZero = true;
  for (const character of text) {
    const value = DIGITS.indexOf(character.replace('〇', '零').replace('两', '二'));
    const unit = PLACES[character];
    if (value >= 0) {
      if (digit !== null) {
        return null;
      }
      if (value === 0) {
        afterZero = true;
      } else {
        digit = BigInt(value);
      }
      continue;
    }
    if (unit === undefined) {
      return null;
    }
    if (unit >= 10_000n) {
      const before: bigint = section + (digit ?? 0n);
      if (unit >= place || before === 0n) {
        return null;
      }
      total += before * unit;
      [section, sectionPlace, place] = [0n, 10_000n, unit];
    } else {
      if (unit >= sectionPlace || (digit === null && (unit !== 10n || section !== 0n))) {
        return null;
      }
      section += (digit ?? 1n) * unit;
      sectionPlace = unit;
    }
    [digit, afterZero] = [null, unit === 10n];
  }
  return text === '' || text.length > 20 || (digit !== null && !afterZero) ? null : total + section + (digit ?? 0n);
}
