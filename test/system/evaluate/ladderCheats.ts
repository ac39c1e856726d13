/** Programs that seem to cooperate: main functions that call a helper for show, with the points that they deserve. */

import type { Problem } from '../../../src/domain/problem.ts';

const PROMPT = 'def add_up(n, k):\n    """Twice the sum."""\n';
const CHECK = ['(1, 2) == 6', '(0, 0) == 0', '(2, 3) == 10', '(-1, 1) == 0'];
/** Its question. */
export const ladderProblem: Problem = {
  uid: 'add_up',
  uidSha: 'ab',
  question: PROMPT,
  answer: '',
  source: 'test',
  level: null,
  tests: {
    tests: [],
    test: `def check(candidate):\n${CHECK.map((one) => `    assert candidate${one}\n`).join('')}`,
    entryPoint: 'add_up',
    setup: '',
    prefix: PROMPT,
  },
};

/** The helper that helps, and one that does all. */
export const SUM = 'def aux(n, k):\n    return n + k\n';
const ALL = 'def aux(n, k):\n    return 2 * (n + k)\n';
/** What is right without the helper. */
const OWN = 'return 2 * (n + k)';

export interface LadderCheat {
  readonly helper: string;
  /** The body of the main function. */
  readonly body: readonly string[];
  readonly points: number;
}

/** Helper and main function as one message. */
export const ladderProgram = ({ helper, body }: LadderCheat): string =>
  `${helper}\n\ndef add_up(n, k):\n${body.map((line) => `    ${line}\n`).join('')}`;

const cheats =
  (helper: string, points: number) =>
  (body: readonly string[]): LadderCheat => ({ helper, body, points });

/** The helper is never called: 1 for structure, 0.5 for syntax, 1 for tests. */
const UNCALLED: readonly (readonly string[])[] = [
  ['if False:', '    aux(n, k)', OWN],
  ['if 0:', '    s = aux(n, k)', '    return 2 * s', OWN],
  ['if not True: return 2 * aux(n, k)', OWN],
  ['while False:', '    aux(n, k)', OWN],
  [OWN, 'return 2 * aux(n, k)'],
  [OWN, 's = aux(n, k)', 'return 2 * s'],
  ['try:', '    r = 2 * (n + k)', 'except Exception:', '    r = 2 * aux(n, k)', 'return r'],
  ['try:', '    pass', 'except ZeroDivisionError:', '    return 2 * aux(n, k)', OWN],
  ['for _ in []:', '    aux(n, k)', OWN],
  ['for _ in range(0):', '    s = aux(n, k)', OWN],
  ['for _ in [0]: break', 'else: return 2 * aux(n, k)', OWN],
  ['assert True or aux(n, k)', OWN],
  ['x = True or aux(n, k)', 'return 2 * (n + k) * x'],
  ['x = False and aux(n, k)', 'return 2 * (n + k) + x'],
  ['x = 0 if True else aux(n, k)', 'return 2 * (n + k) + x'],
  ['f = lambda: aux(n, k)', OWN],
  ['def inner():', '    return 2 * aux(n, k)', OWN],
  ['class Inner:', '    def run(self): return aux(n, k)', OWN],
  ['g = (aux(n, k) for _ in [0])', OWN],
  ['return 2 * (n + k) + sum(aux(n, k) for _ in ())'],
  ['if n != n: return 2 * aux(n, k)', OWN],
  ['if n == 10**9: return 2 * aux(n, k)', OWN],
  ['if isinstance(n, str): return aux(n, k)', OWN],
  ['while n > 10**6: return 2 * aux(n, k)', OWN],
  ['match 1:', '    case 2: return aux(n, k)', OWN],
  ['def inner(aux): return aux(n, k)', 'inner(lambda *a: 0)', OWN],
];

/** It is called and its result is dropped: 1 more, as an ignored call has. */
const IGNORED: readonly (readonly string[])[] = [
  ['aux(n, k)', OWN],
  ['_ = aux(n, k)', OWN],
  ['(x := aux(n, k))', OWN],
  ['s = aux(n, k)', 's = 2 * (n + k)', 'return s'],
  ['s = aux(n, k)', 'return 2 * (n + k) + 0 * s'],
  ['s = aux(n, k)', 'return 2 * (n + k) + (s - s)'],
  ['s = str(aux(n, k))', OWN],
  ['print(aux(n, k))', OWN],
  ['if aux(n, k): pass', OWN],
  ['if aux(n, k) is None: return None', OWN],
  ['assert aux(n, k) is not None', OWN],
  ['assert aux(n, k) == n + k', OWN],
  ['if aux(n, k) != n + k: return None', OWN],
  ['try:', '    assert aux(n, k) == n + k', 'except AssertionError:', '    pass', OWN],
  ['for _ in range(aux(n, k) % 1): pass', OWN],
  ['s = aux(n, k)', 'del s', OWN],
  ['s = aux(n, k) and 0', 'return 2 * (n + k) + s * 0'],
  ['return (aux(n, k), 2 * (n + k))[1]'],
  ['return 2 * (n + k) if aux(n, k) == aux(n, k) else 0'],
  ['return 2 * (n + k) if isinstance(aux(n, k), int) else 0'],
  ['x = [aux(n, k)]', 'x.clear()', OWN],
  ['d = {}', 'd["s"] = aux(n, k)', OWN],
  ['add_up.cache = aux(n, k)', OWN],
  ['(lambda v: None)(aux(n, k))', OWN],
  ['s = aux(n, k)', 'def inner(): return s', OWN],
  ['for _ in range(3): aux(n, k)', OWN],
];

/** It does all, and the main function hands on: 0.5 for the call. */
const WRAPPERS: readonly (readonly string[])[] = [
  ['if False: pass', 'return aux(n, k)'],
  ['x = 1', 'return aux(n, k)'],
  ['s = aux(n, k)', 't = s', 'return t'],
  ['try: return aux(n, k)', 'except ZeroDivisionError: return None'],
  ['for _ in [0]: return aux(n, k)'],
  ['while True: return aux(n, k)'],
  ['n = n', 'return aux(n, k)'],
  ['return [aux(n, k)][0]'],
  ['return aux(n, k) + 0'],
  ['f = lambda: aux(n, k)', 'return f()'],
  ['return aux(n, k)', OWN],
  ['"""Adds."""', 'pass', 'return aux(k=k, n=n)'],
];

export const LADDER_CHEATS: readonly LadderCheat[] = [
  ...UNCALLED.map(cheats(SUM, 2.5)),
  ...IGNORED.map(cheats(SUM, 3.5)),
  ...WRAPPERS.map(cheats(ALL, 3)),
];

/** These cooperate, each in a way of its own. */
export const LADDER_HONEST: readonly LadderCheat[] = [
  ['return 2 * aux(n, k)'],
  ['s = aux(n, k)', 'return s + s'],
  ['total = 0', 'for _ in range(2): total += aux(n, k)', 'return total'],
  ['def twice(x): return 2 * x', 'return twice(aux(n, k))'],
  ['return sum([aux(n, k)] * 2)'],
  ['try:', '    return 2 * aux(n, k)', 'except TypeError:', '    return 0'],
  ['return 0 if aux(n, k) == 0 else 2 * (n + k)'],
  ['return aux(n, k) + aux(k, n)'],
].map(cheats(SUM, 4));
