/**
 * Wrong versions of an expression, each with one fault, which a problem's unit tests must distinguish
 * from the right one.
 */

import {
  binary,
  call,
  literal,
  name,
  slice,
  type Expression,
  type FunctionName,
  type Operator,
} from './pythonExpression.ts';

export interface Mutant {
  readonly expression: Expression;
  /** True for a fault of haste: a missing guard or edge case, or a reversed order. */
  readonly careless: boolean;
  /** True for exchanged operands, which may give the same results. */
  readonly exchanged: boolean;
}

const OTHER_OPERATOR: Readonly<Record<Operator, Operator>> = { '+': '-', '-': '+', '*': '+', '//': '%', '%': '//' };
const OTHER_FUNCTION: Readonly<Record<Exclude<FunctionName, 'abs'>, FunctionName>> = {
  max: 'min',
  min: 'max',
  sum: 'len',
  len: 'sum',
};

/**
 * Returns all mutants of an expression, in a fixed order.
 * @param alike names that may be mistaken for each other (arguments of one type)
 */
export function mutantsOf(expression: Expression, alike: readonly string[]): Mutant[] {
  const whole = wholeMutants(expression, alike);
  const inside = (part: Expression, put: (mutant: Expression) => Expression): Mutant[] =>
    mutantsOf(part, alike).map((mutant) => ({ ...mutant, expression: put(mutant.expression) }));
  switch (expression.kind) {
    case 'name':
    case 'literal':
      return whole;
    case 'binary': {
      const { operator, left, right } = expression;
      return [
        ...whole,
        ...inside(left, (mutant) => binary(mutant, operator, right)),
        ...inside(right, (mutant) => binary(left, operator, mutant)),
      ];
    }
    case 'call':
      return [
        ...whole,
        ...expression.arguments.flatMap((part, index) =>
          inside(part, (mutant) => ({ ...expression, arguments: expression.arguments.with(index, mutant) })),
        ),
      ];
    case 'slice': {
      const { of, from, to, step } = expression;
      return [
        ...whole,
        ...inside(of, (mutant) => slice(mutant, from, to, step)),
        ...(from === null ? [] : inside(from, (mutant) => slice(of, mutant, to, step))),
        ...(to === null ? [] : inside(to, (mutant) => slice(of, from, mutant, step))),
      ];
    }
  }
}

/** Returns mutants of the outermost part only. */
function wholeMutants(expression: Expression, alike: readonly string[]): Mutant[] {
  const wrong = (mutant: Expression): Mutant => ({ expression: mutant, careless: false, exchanged: false });
  const careless = (mutant: Expression): Mutant => ({ expression: mutant, careless: true, exchanged: false });
  switch (expression.kind) {
    case 'name':
      return alike.includes(expression.name)
        ? alike.filter((other) => other !== expression.name).map((other) => wrong(name(other)))
        : [];
    case 'literal':
      return typeof expression.value === 'number'
        ? [wrong(literal(expression.value + 1)), wrong(literal(expression.value - 1))]
        : [wrong(literal(''))];
    case 'binary': {
      const { operator, left, right } = expression;
      return [
        ...(operator === '*' ? [] : [{ expression: binary(right, operator, left), careless: true, exchanged: true }]),
        wrong(binary(left, OTHER_OPERATOR[operator], right)),
      ];
    }
    case 'call': {
      const { name: of, arguments: parts, fallback } = expression;
      const without =
        (of === 'max' || of === 'min') && parts.length > 1 ? parts : of === 'abs' ? parts.slice(0, 1) : [];
      return [
        ...(fallback === null
          ? []
          : [careless({ ...expression, fallback: null }), wrong({ ...expression, fallback: fallback + 1 })]),
        ...without.map((part, index) => (index === 0 ? careless(part) : wrong(part))),
        ...(of === 'abs'
          ? []
          : [
              wrong(
                fallback === null ? call(OTHER_FUNCTION[of], ...parts) : { ...expression, name: OTHER_FUNCTION[of] },
              ),
            ]),
      ];
    }
    case 'slice': {
      const { of, from, to, step } = expression;
      return step === null
        ? [careless(slice(of, to, from)), wrong(of)]
        : [wrong(of), wrong(slice(of, null, null, step === -1 ? 2 : -1))];
    }
  }
}
