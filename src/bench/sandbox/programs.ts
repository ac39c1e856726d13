/** Honest and hostile programs for the sandbox bench, each with the score that it deserves. */

import type { PythonTests } from '../../evaluate/python/rules.ts';
import { HashedStream } from '../../tasks/hashedStream.ts';
import { HOSTILE, type Bait, type HostileKind } from './hostile.ts';

export type ProgramKind = 'right' | 'wrong' | HostileKind;

export interface LoadProgram {
  readonly kind: ProgramKind;
  readonly code: string;
  readonly tests: PythonTests;
  /** 1 if the program solves its problem, otherwise 0. */
  readonly deserves: 0 | 1;
}

/**
 * Programs of each kind in 100: 45 solve their problem, 20 are honest and wrong, 35 are hostile.
 */
const MIX: readonly (readonly [kind: ProgramKind, share: number])[] = [
  ['right', 45],
  ['wrong', 20],
  ['loop', 4],
  ['memory', 4],
  ['file', 6],
  ['process', 5],
  ['network', 4],
  ['checker', 9],
  ['flood', 3],
];

/** A problem with a right and a wrong solution, and its tests. The wrong one fails every test. */
interface GradedProblem {
  readonly right: string;
  readonly wrong: string;
  readonly cases: readonly (readonly [input: string, output: string])[];
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

const PROBLEMS: readonly ((stream: HashedStream) => GradedProblem)[] = [
  (stream) => {
    const [factor, offset] = [stream.integer(2, 99), stream.integer(1, 999)];
    return {
      right: `    return ${factor} * x + ${offset}`,
      wrong: `    return ${factor} * x + ${offset + 1}`,
      cases: range(4).map((x) => [String(x), String(factor * x + offset)]),
    };
  },
  (stream) => {
    const values = range(12).map(() => stream.integer(-50, 50));
    const limit = stream.integer(-20, 20);
    const above = values.filter((value) => value > limit).reduce((sum, value) => sum + value, 0);
    return {
      right: `    return sum(value for value in x if value > ${limit})`,
      wrong: `    return sum(value for value in x if value > ${limit}) - 1`,
      cases: [
        [JSON.stringify(values), String(above)],
        ['[]', '0'],
      ],
    };
  },
  (stream) => {
    const word = range(stream.integer(4, 12)).map(() => stream.pick(['a', 'b', 'c', 'd', 'e', 'f']));
    const letters = [...word, 'z'];
    const text = letters.join('');
    return {
      right: '    return "".join(reversed(x)).upper()',
      wrong: '    return x.upper()',
      cases: [[JSON.stringify(text), JSON.stringify(letters.toReversed().join('').toUpperCase())]],
    };
  },
  (stream) => {
    const most = stream.integer(50, 400);
    const isPrime = (n: number): boolean => n > 1 && range(n).every((d) => d < 2 || n % d !== 0);
    return {
      right:
        '    sieve = [True] * x\n    found = []\n    for n in range(2, x):\n        if sieve[n]:\n            found.append(n)\n            sieve[n * n :: n] = [False] * len(sieve[n * n :: n])\n    return found',
      wrong: '    return [n for n in range(2, x) if all(n % d for d in range(2, n // 2))]',
      cases: [[String(most), JSON.stringify(range(most).filter(isPrime))]],
    };
  },
  (stream) => {
    const words = range(9).map(() => stream.pick(['ash', 'elm', 'fir', 'oak', 'yew']));
    const counts = new Map<string, number>();
    for (const word of words) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return {
      right: '    from collections import Counter\n    return dict(Counter(x))',
      wrong: '    return {word: len(x) for word in x}',
      cases: [
        [JSON.stringify([...words, 'box']), JSON.stringify({ ...Object.fromEntries(counts), box: 1 })],
        ['["elm", "oak"]', '{"elm": 1, "oak": 1}'],
      ],
    };
  },
];

/** Python code that raises an error if an earlier program left something in the process. */
const CLEAN =
  'import builtins, os, sys\nLEFT = [os.path.exists("/tmp/left"), hasattr(builtins, "left"), "LEFT" in os.environ, abs(-1) != 1]\nif any(LEFT): raise ValueError(LEFT)\n';

/** Every third program that solves its problem runs CLEAN first. */
const LOOKS_EVERY = 3;

/**
 * Returns the programs in the order of grading, with their kinds mixed. The same count and bait
 * give the same programs. No two programs have the same text, so that no verdict is reused.
 */
export function makeLoadPrograms(count: number, bait: Bait): readonly LoadProgram[] {
  const stream = new HashedStream('sandbox load');
  const kinds = MIX.map(([kind]) => kind);
  const left = MIX.map(([, share]) => Math.round((count * share) / 100));
  return range(left.reduce((sum, share) => sum + share, 0)).map((index) => {
    const kind = stream.weighted(kinds, left);
    const drawn = kinds.indexOf(kind);
    const rest = (left[drawn] ?? 0) - 1;
    left[drawn] = rest;
    return makeLoadProgram(kind, rest, index, stream, bait);
  });
}

/**
 * @param turn countdown over the programs of this kind, so that each form of the kind gets its
 * share
 */
function makeLoadProgram(
  kind: ProgramKind,
  turn: number,
  index: number,
  stream: HashedStream,
  bait: Bait,
): LoadProgram {
  const problem = PROBLEMS[turn % PROBLEMS.length]?.(stream);
  if (problem === undefined) {
    throw new RangeError('There is no problem to solve.');
  }
  const solves = problem.cases.map(([input, output]) => `assert f(${input}) == ${output}`);
  const head = `# program ${index}\n`;
  if (kind === 'right' || kind === 'wrong') {
    const isRight = kind === 'right';
    const looks = isRight && turn % LOOKS_EVERY === 0 ? CLEAN : '';
    return {
      kind,
      code: `${head}${looks}def f(x):\n${isRight ? problem.right : problem.wrong}`,
      tests: { tests: solves, test: '', entryPoint: null, setup: '' },
      deserves: isRight ? 1 : 0,
    };
  }
  const forms = HOSTILE[kind];
  const form = forms[turn % forms.length];
  if (form === undefined) {
    throw new RangeError(`There is no program of the kind ${kind}.`);
  }
  const { code, seeks } = form(bait, index);
  const tests = seeks === true ? [`assert f(1) == ${JSON.stringify(bait.secret)}`] : solves;
  return { kind, code: head + code, tests: { tests, test: '', entryPoint: null, setup: '' }, deserves: 0 };
}
