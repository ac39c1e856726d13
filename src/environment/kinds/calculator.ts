/** Computes an expression of whole numbers that the roles write. Nothing is evaluated as code. */

import type { EnvironmentKind } from '../kind.ts';

/** Longest expression, in characters. */
const MAX_EXPRESSION = 200;
const CALL = /calc\(([^()\n]{1,200})\)/gi;
const FLAT = /^\s*-?\d{1,15}(?:\s*[-+*/]\s*\d{1,15})*\s*$/;

export const calculator: EnvironmentKind = {
  name: 'calculator',
  words: 'Computes the last calc(...) of the last message, or the message itself where it is an expression.',
  // The bundled arithmetic reads 2+3*4 as (2+3)*4. Without an expression, a loop ends, but the
  // middle of a round does not.
  options: { reading: ['precedence', 'left_to_right'], unasked: ['end', 'continue'] },
  derived: true,
  run({ messages, options }) {
    const text = messages.at(-1)?.text ?? '';
    const expression = [...text.matchAll(CALL)].at(-1)?.[1] ?? (FLAT.test(text) ? text : null);
    if (expression === null) {
      const done = options['unasked'] === 'continue' ? {} : { done: 'nothing was asked of the calculator' };
      return { text: '', json: { expression }, ...done };
    }
    const asked = expression.trim();
    if (asked.length > MAX_EXPRESSION || !FLAT.test(asked)) {
      return { text: 'The calculator knows whole numbers with + - * / only.', json: { expression: asked } };
    }
    const value = compute(asked, options['reading'] === 'left_to_right');
    const shown = value === null ? 'no number' : String(value);
    return { text: `${asked} = ${shown}`, json: { expression: asked, value: value === null ? null : shown } };
  },
};

/** Evaluates an expression. @returns null for a division with a remainder or by 0 */
function compute(expression: string, leftToRight: boolean): bigint | null {
  const [first = '0', ...rest] = expression.match(/(?:^\s*-)?\d+|[-+*/]/g) ?? [];
  const numbers = [BigInt(first.replace(/\s/g, ''))];
  const signs: string[] = [];
  for (let index = 0; index < rest.length; index += 2) {
    const sign = rest[index] ?? '+';
    const number = BigInt(rest[index + 1] ?? '0');
    if (leftToRight || sign === '*' || sign === '/') {
      const value = apply(numbers.pop() ?? 0n, sign, number);
      if (value === null) {
        return null;
      }
      numbers.push(value);
    } else {
      signs.push(sign);
      numbers.push(number);
    }
  }
  return numbers
    .slice(1)
    .reduce((sum, number, index) => sum + (signs[index] === '-' ? -number : number), numbers[0] ?? 0n);
}

function apply(left: bigint, sign: string, right: bigint): bigint | null {
  switch (sign) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    default:
      return right === 0n || left % right !== 0n ? null : left / right;
  }
}
