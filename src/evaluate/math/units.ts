/** Units, money, counted things, and words that multiply a number. */

import type { Token } from './lex.ts';

/** Spellings of each unit, matched in lower case; single letters keep their case. */
const SAME_UNIT: Readonly<Record<string, string>> = {
  millimeter: 'mm millimeters millimetre millimetres 毫米',
  centimeter: 'cm cms centimeters centimetre centimetres 厘米 公分',
  decimeter: 'dm decimeters decimetre decimetres 分米',
  meter: 'm meters metre metres 米 公尺',
  kilometer: 'km kms kilometers kilometre kilometres 千米 公里',
  inch: 'in inches',
  foot: 'ft feet',
  yard: 'yd yds yards',
  mile: 'mi miles 英里',
  milligram: 'mg milligrams 毫克',
  gram: 'g grams 克',
  kilogram: 'kg kgs kilograms kilo kilos 千克 公斤',
  tonne: 'tonnes ton tons 吨',
  ounce: 'oz ounces',
  pound: 'lb lbs pounds',
  milliliter: 'ml milliliters millilitre millilitres 毫升',
  liter: 'l L liters litre litres 升',
  gallon: 'gal gallons',
  second: 's sec secs seconds 秒',
  minute: 'min mins minutes 分钟',
  hour: 'h hr hrs hours 小时',
  day: 'days 天 日',
  week: 'wk weeks 周 星期',
  month: 'months 月 个月',
  year: 'yr yrs years 年',
  degree: 'degrees 度',
  celsius: 'C',
  fahrenheit: 'F',
  radian: 'rad radians 弧度',
  dollar: 'dollars usd 美元',
  cent: 'cents',
  euro: 'euros eur 欧元',
  yuan: 'rmb cny 元 块 元钱 块钱 人民币',
  newton: 'N newtons',
  joule: 'J joules',
  watt: 'W watts',
  volt: 'V volts',
  ampere: 'A amperes',
  hertz: 'hz',
  kelvin: 'K kelvins',
  'mile/hour': 'mph',
  'kilometer/hour': 'kmh kph kmph',
  square: 'sq',
  person: 'people persons 人',
  'percentage point': 'percentage points',
  unit: 'units',
  'meter^2': '平方米 平方公尺',
  'centimeter^2': '平方厘米',
  'decimeter^2': '平方分米',
  'kilometer^2': '平方千米 平方公里',
  'meter^3': '立方米',
  'centimeter^3': '立方厘米',
  'decimeter^3': '立方分米',
  hectare: 'ha hectares 公顷',
  'foot^2': 'sqft',
};

const UNIT_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(SAME_UNIT).flatMap(([unit, spellings]) =>
    [unit, ...spellings.split(' ')].map((spelling) => [spelling, unit] as const),
  ),
);

/** Words that multiply the number before them. */
const MULTIPLES: ReadonlyMap<string, bigint> = new Map([
  ['dozen', 12n],
  ['hundred', 100n],
  ['thousand', 1000n],
  ['million', 10n ** 6n],
  ['billion', 10n ** 9n],
  ['trillion', 10n ** 12n],
  ['百', 100n],
  ['千', 1000n],
  ['万', 10n ** 4n],
  ['十万', 10n ** 5n],
  ['百万', 10n ** 6n],
  ['千万', 10n ** 7n],
  ['亿', 10n ** 8n],
  ['万亿', 10n ** 12n],
]);
const CHINESE_MULTIPLE = /^(?:万亿|十万|百万|千万|[百千万亿])(?![米克瓦卡])/u;

/** Words that are not a counted thing; with one of them, the number is not the whole answer. */
const NO_UNIT: ReadonlySet<string> = new Set(
  'or and not no nor to than then less more least most minus plus times over under half halves third thirds quarter quarters fourth fourths fifth fifths eighth eighths tenth tenths hundredth hundredths thousandth squared cubed factorial root mod modulo remainder if when where because but is are was were be for from with without about approximately only between otherwise either both neither unknown undefined infinity infinite zero one two three four five six seven eight nine ten twelve twenty dozens hundreds thousands millions pi sqrt sin cos tan log import lambda return true false none null nan percent per'.split(
    ' ',
  ),
);
const NO_CHINESE_UNIT =
  /^(?:分之|又|点|多|几|余|半|以|左|上|下|或|和|到|至|乘|除|加|减|倍多)|[或和余多半几]|以上|以下|左右|大约|不/u;
/** Chinese classifiers, which do not belong to the name of the thing. */
const CLASSIFIER = /^[个只名位本支枝条头匹棵朵张辆件套艘架台座颗粒根块]/u;
/** Things that Chinese number words may count; otherwise 三角形 (triangle) would be three things. */
const CHINESE_COUNTED =
  /^(?:[个只名位本支枝条头匹棵朵张辆件套艘架台座颗粒根块元人米克吨升天年月日周岁次倍度组排行页间层箱袋包盒瓶]|平方(?:米|厘米|分米|千米)|立方(?:米|厘米|分米)|[千毫厘分]米|[千毫]克|毫升|公斤|公里|公顷|小时|分钟|秒|元钱|块钱|星期|个月)$/u;

export interface Unit {
  /** The factor of the number. */
  readonly multiple: bigint;
  /** The canonical name; null if there is only a multiple. */
  readonly name: string | null;
}

/** Returns the unit of a currency sign, or null. */
export function findCurrency(symbol: string): string | null {
  return { $: 'dollar', '£': 'pound sterling', '€': 'euro', '¥': 'yuan' }[symbol] ?? null;
}

/** Splits a run of Chinese into the longest number word and the counted thing, or returns null. */
export function splitChineseNumber(
  text: string,
  isNumber: (text: string) => boolean,
): readonly [number: string, unit: string] | null {
  for (let length = Math.min(text.length, 20); length > 0; length--) {
    const number = text.slice(0, length);
    const unit = text.slice(length);
    if (isNumber(number) && (unit === '' || CHINESE_COUNTED.test(unit))) {
      return [number, unit];
    }
  }
  return null;
}

/**
 * Returns the unit in the tokens after a number, or null if they are anything else: known units with
 * powers and quotients, or up to four plain words for the counted thing.
 * @param numeric true if the part before is a number; only then single letters are a unit and not a
 *   product
 */
export function readUnit(tokens: readonly Token[], numeric: boolean): Unit | null {
  let multiple = 1n;
  const parts: string[] = [];
  let words = 0;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === undefined) {
      break;
    }
    if (token.kind === 'symbol') {
      const power = parts.length === 0 ? null : readUnitPower(tokens, at);
      const next = tokens[at + 1];
      if (power !== null) {
        parts.push(`^${power.digit}`);
        at += power.length - 1;
      } else if (token.text === '/' && parts.length > 0 && next !== undefined && next.kind !== 'symbol') {
        parts.push('/');
      } else {
        return null;
      }
    } else if (token.kind === 'word' || token.kind === 'name') {
      const chinese = /^\p{Script=Han}/u.test(token.text) ? CHINESE_MULTIPLE.exec(token.text)?.[0] : undefined;
      const factor = MULTIPLES.get(chinese ?? token.text.toLowerCase());
      if (factor !== undefined && parts.length === 0) {
        multiple *= factor;
        if (chinese === undefined || chinese === token.text) {
          continue;
        }
      }
      const name = findUnitName(
        chinese === undefined ? token : { ...token, text: token.text.slice(chinese.length) },
        numeric,
        parts.length > 0,
      );
      if (name === null || ++words > 4) {
        return null;
      }
      if (name !== '') {
        parts.push(name);
      }
    } else {
      return null;
    }
  }
  const name = joinUnitParts(parts);
  return { multiple, name: name === '' ? null : name };
}

/** Returns the canonical name of one word; empty without a meaning, or null if it is not a unit. */
function findUnitName(token: Token, numeric: boolean, following: boolean): string | null {
  const { text, prose, space } = token;
  if (/^\p{Script=Han}/u.test(text)) {
    if (NO_CHINESE_UNIT.test(text) || text.length > 8) {
      return null;
    }
    return UNIT_OF.get(text) ?? findThingName(text);
  }
  const lower = text.toLowerCase();
  const known = UNIT_OF.get(text.length === 1 ? text : lower);
  if (text.length === 1) {
    return known !== undefined && (prose || following || (numeric && space)) ? known : null;
  }
  if (lower === 'per') {
    return following ? '/' : null;
  }
  if (token.kind !== 'word' || NO_UNIT.has(lower)) {
    return null;
  }
  if (known !== undefined) {
    return prose || numeric ? known : null;
  }
  if (lower === 'of' || lower === 'a' || lower === 'the' || lower === 'in') {
    return following ? '' : null;
  }
  const plain = prose || (numeric && space && text.length >= 3 && /[aeiouy]/iu.test(text) && /^[a-z]+$/iu.test(text));
  return plain ? toSingular(lower) : null;
}

function findThingName(text: string): string {
  const thing = text.replace(CLASSIFIER, '');
  return UNIT_OF.get(thing) ?? thing;
}

function toSingular(word: string): string {
  if (/(?:ch|sh|x|ss)es$/u.test(word)) {
    return word.slice(0, -2);
  }
  if (word.endsWith('ies') && word.length > 4) {
    return `${word.slice(0, -3)}y`;
  }
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word;
}

/** Returns the digit of `^2` or `^{2}`, for 2 and 3 only. */
function readUnitPower(
  tokens: readonly Token[],
  at: number,
): { readonly digit: string; readonly length: number } | null {
  if (tokens[at]?.text !== '^') {
    return null;
  }
  const braced = tokens[at + 1]?.text === '{' && tokens[at + 3]?.text === '}';
  const digit = tokens[at + (braced ? 2 : 1)]?.text ?? '';
  return /^[23]$/u.test(digit) ? { digit, length: braced ? 4 : 2 } : null;
}

/** Joins the parts of a unit in the written order; square X becomes X^2, and cubic X becomes X^3. */
function joinUnitParts(parts: readonly string[]): string {
  const [first, second, ...rest] = parts;
  const power = { square: '^2', cubic: '^3' }[first ?? ''];
  const ordered = power !== undefined && second !== undefined ? [second, power, ...rest] : parts;
  return ordered
    .map((part, index) => (index === 0 || /^[\^/]/u.test(part) || ordered[index - 1] === '/' ? part : ` ${part}`))
    .join('');
}
