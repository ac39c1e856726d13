/**
 * A tiny part of Python: expressions over whole numbers, lists of them and strings, with Python's
 * source and values.
 */

export type Value = number | string | readonly number[];

/** Values by name. */
export type Environment = Readonly<Record<string, Value>>;

export type Operator = '+' | '-' | '*' | '//' | '%';
export type FunctionName = 'max' | 'min' | 'abs' | 'sum' | 'len';

export type Expression =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'literal'; readonly value: number | string }
  | { readonly kind: 'binary'; readonly operator: Operator; readonly left: Expression; readonly right: Expression }
  /** `fallback` is the default of max and min for an empty list. */
  | {
      readonly kind: 'call';
      readonly name: FunctionName;
      readonly arguments: readonly Expression[];
      readonly fallback: number | null;
    }
  | {
      readonly kind: 'slice';
      readonly of: Expression;
      readonly from: Expression | null;
      readonly to: Expression | null;
      readonly step: number | null;
    };

export const name = (text: string): Expression => ({ kind: 'name', name: text });
export const literal = (value: number | string): Expression => ({ kind: 'literal', value });
export const binary = (left: Expression, operator: Operator, right: Expression): Expression => ({
  kind: 'binary',
  operator,
  left,
  right,
});
export const call = (of: FunctionName, ...list: Expression[]): Expression => ({
  kind: 'call',
  name: of,
  arguments: list,
  fallback: null,
});
export const callOr = (of: 'max' | 'min', list: Expression, fallback: number): Expression => ({
  kind: 'call',
  name: of,
  arguments: [list],
  fallback,
});
export const slice = (
  of: Expression,
  from: Expression | null,
  to: Expression | null,
  step: number | null = null,
): Expression => ({ kind: 'slice', of, from, to, step });

/** Thrown for errors that Python would raise. */
export class PythonError extends Error {}

const STRENGTH: Readonly<Record<Operator, number>> = { '+': 1, '-': 1, '*': 2, '//': 2, '%': 2 };
/** Longer strings and lists, and larger numbers, are errors, because no test needs them. */
const MAX_LENGTH = 1000;
const MAX_NUMBER = 1e9;

/** Writes the expression as Python source, with the necessary parentheses. */
export function sourceOf(expression: Expression): string {
  switch (expression.kind) {
    case 'name':
      return expression.name;
    case 'literal':
      return literalSource(expression.value);
    case 'binary': {
      const { operator, left, right } = expression;
      const weakLeft = left.kind === 'binary' && STRENGTH[left.operator] < STRENGTH[operator];
      const weakRight = right.kind === 'binary' && STRENGTH[right.operator] <= STRENGTH[operator];
      return `${weakLeft ? `(${sourceOf(left)})` : sourceOf(left)} ${operator} ${weakRight ? `(${sourceOf(right)})` : sourceOf(right)}`;
    }
    case 'call':
      return `${expression.name}(${expression.arguments.map(sourceOf).join(', ')}${expression.fallback === null ? '' : `, default=${expression.fallback}`})`;
    case 'slice': {
      const { of, from, to, step } = expression;
      const bound = (part: Expression | null): string => (part === null ? '' : sourceOf(part));
      const inner = of.kind === 'binary' ? `(${sourceOf(of)})` : sourceOf(of);
      return `${inner}[${bound(from)}:${bound(to)}${step === null ? '' : `:${step}`}]`;
    }
  }
}

/** Writes a value as Python source. */
export function literalSource(value: Value): string {
  if (typeof value === 'number') {
    return String(value);
  }
  return typeof value === 'string' ? `'${value}'` : `[${value.join(', ')}]`;
}

/** Evaluates an expression. @throws PythonError as Python raises, and for values beyond the bounds */
export function evaluateExpression(expression: Expression, environment: Environment): Value {
  switch (expression.kind) {
    case 'name': {
      const value = environment[expression.name];
      if (value === undefined) {
        throw new PythonError(`name ${expression.name} is not defined`);
      }
      return value;
    }
    case 'literal':
      return expression.value;
    case 'binary':
      return bounded(
        operate(
          expression.operator,
          evaluateExpression(expression.left, environment),
          evaluateExpression(expression.right, environment),
        ),
      );
    case 'call':
      return bounded(
        apply(
          expression.name,
          expression.arguments.map((part) => evaluateExpression(part, environment)),
          expression.fallback,
        ),
      );
    case 'slice': {
      const bound = (part: Expression | null): number | null =>
        part === null ? null : numberOf(evaluateExpression(part, environment));
      return cut(
        evaluateExpression(expression.of, environment),
        bound(expression.from),
        bound(expression.to),
        expression.step ?? 1,
      );
    }
  }
}

function bounded(value: Value): Value {
  if (typeof value === 'number' ? Math.abs(value) > MAX_NUMBER : value.length > MAX_LENGTH) {
    throw new PythonError('too large');
  }
  return value;
}

function numberOf(value: Value): number {
  if (typeof value !== 'number') {
    throw new PythonError('not a whole number');
  }
  return value;
}

function operate(operator: Operator, left: Value, right: Value): Value {
  if (operator === '*' && typeof left !== 'number') {
    return repeat(left, numberOf(right));
  }
  if (operator === '+' && typeof left === 'string' && typeof right === 'string') {
    return left + right;
  }
  if (operator === '+' && typeof left === 'object' && typeof right === 'object') {
    return [...left, ...right];
  }
  const [a, b] = [numberOf(left), numberOf(right)];
  if ((operator === '//' || operator === '%') && b === 0) {
    throw new PythonError('division by zero');
  }
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      // Adding 0 removes negative zero, which Python's whole numbers do not have.
      return a * b + 0;
    case '//':
      return Math.floor(a / b) + 0;
    case '%':
      return a - b * Math.floor(a / b);
  }
}

function repeat(value: string | readonly number[], times: number): Value {
  const count = Math.max(0, times);
  if (count * value.length > MAX_LENGTH) {
    throw new PythonError('too large');
  }
  return typeof value === 'string' ? value.repeat(count) : Array.from({ length: count }, () => value).flat();
}

function apply(of: FunctionName, values: readonly Value[], fallback: number | null): number {
  const [first = 0] = values;
  if (of === 'len') {
    if (typeof first === 'number') {
      throw new PythonError('a number has no length');
    }
    return first.length;
  }
  if (of === 'abs') {
    return Math.abs(numberOf(first));
  }
  const numbers = values.length === 1 && typeof first === 'object' ? first : values.map(numberOf);
  if (values.length === 1 && typeof first !== 'object') {
    throw new PythonError('no list');
  }
  if (of === 'sum') {
    return numbers.reduce((total, value) => total + value, 0);
  }
  if (numbers.length === 0) {
    if (fallback === null) {
      throw new PythonError('an empty list');
    }
    return fallback;
  }
  return of === 'max' ? Math.max(...numbers) : Math.min(...numbers);
}

/** Slices as Python does. The step is 1, 2 or -1; steps of -1 have no bounds. */
function cut(value: Value, from: number | null, to: number | null, step: number): Value {
  if (typeof value === 'number') {
    throw new PythonError('a number has no parts');
  }
  const place = (bound: number): number =>
    Math.min(value.length, Math.max(0, bound < 0 ? bound + value.length : bound));
  const [start, end] = [from === null ? 0 : place(from), to === null ? value.length : place(to)];
  const indices = Array.from({ length: Math.max(0, end - start) }, (_, index) => start + index);
  const chosen = (step === -1 ? indices.reverse() : indices).filter((_, index) => index % Math.abs(step) === 0);
  return typeof value === 'string'
    ? chosen.map((index) => value.charAt(index)).join('')
    : chosen.map((index) => value[index] ?? 0);
}
