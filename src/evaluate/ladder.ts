/**
 * The reward ladder of a helper and a main role on code (MAGRPO reference section 8): structure,
 * syntax, tests and cooperation, 4 points in all. A program that fails one of the first two levels
 * gets no points of the later ones.
 */

import type { Examination, HelperUsage } from '../domain/message.ts';
import { HELPER_NAME } from './python/functionSource.ts';

/** The points of all levels, which a score of 1 stands for. */
export const LADDER_POINTS = 4;

/**
 * The way in which the program is read. checked: by its syntax tree and the flow of its values.
 * executed: like checked, but cooperation is found by running it. published: by the substrings and
 * patterns of the published scripts.
 */
export type LadderRules = 'checked' | 'executed' | 'published';

export interface Ladder {
  /** 0.4 for the helper, 0.6 for the main function. */
  readonly structure: number;
  /** 0 or 0.5. */
  readonly syntax: number;
  /** The share of the tests that pass. */
  readonly tests: number;
  /** 0.5 for a call of the helper, plus 1 if not a mere wrapper, minus 0.5 if its result is ignored. */
  readonly cooperation: number;
  readonly total: number;
  readonly passed: number;
}

/** The most points of each level. */
const MOST = { structure: 1, syntax: 0.5, tests: 1, cooperation: 1.5 } as const;

/** A program's share of the points of each level and of all, from 0 to 1. */
export type LadderShares = Readonly<Record<keyof typeof MOST | 'total', number>>;

/** Returns the points of a program. A pure function. */
export function scoreLadder(examination: Examination, rules: LadderRules): Ladder {
  const { helper, main, syntax, tests, testCount } = examination;
  const isDefined = ({ source, returns }: Examination['main']): boolean =>
    rules === 'published' ? source?.includes('return ') === true : returns;
  const hasMain = isDefined(main);
  const structure = (isDefined(helper) ? 0.4 : 0) + (hasMain ? 0.6 : 0);
  if (!hasMain || syntax !== null) {
    return { structure, syntax: 0, tests: 0, cooperation: 0, total: structure, passed: 0 };
  }
  const passed = tests.filter((test) => test.passed).length;
  const share = testCount === 0 ? 0 : passed / testCount;
  const usage = passed === 0 || helper.source === null ? null : findHelperUsage(examination, rules);
  const cooperation = usage?.called === true ? 0.5 + (usage.wrapper ? 0 : 1) - (usage.used ? 0 : 0.5) : 0;
  return { structure, syntax: 0.5, tests: share, cooperation, total: structure + 0.5 + share + cooperation, passed };
}

/** Describes a ladder in one line. */
export function formatLadder({ structure, syntax, cooperation, total, passed }: Ladder, testCount: number): string {
  const points = (value: number): string => String(Math.round(value * 100) / 100);
  return `ladder: ${points(total)} of ${LADDER_POINTS} (structure ${points(structure)}, syntax ${points(syntax)}, tests ${passed}/${testCount}, cooperation ${points(cooperation)})`;
}

const SAID = /ladder: [\d.]+ of 4 \(structure ([\d.]+), syntax ([\d.]+), tests (\d+)\/(\d+), cooperation ([\d.]+)\)/gu;

/** Reads the ladders that formatLadder wrote into the rule of an episode, in order. */
export const parseLadders = (rules: string): readonly LadderShares[] =>
  [...rules.matchAll(SAID)].map(([, ...numbers]) => {
    const [structure = 0, syntax = 0, passed = 0, all = 0, cooperation = 0] = numbers.map(Number);
    const tests = all === 0 ? 0 : passed / all;
    return {
      total: (structure + syntax + tests + cooperation) / LADDER_POINTS,
      structure: structure / MOST.structure,
      syntax: syntax / MOST.syntax,
      tests: tests / MOST.tests,
      cooperation: cooperation / MOST.cooperation,
    };
  });

function findHelperUsage({ usage, executed, main }: Examination, rules: LadderRules): HelperUsage | null {
  if (rules === 'published') {
    return readPublishedUsage(main.source ?? '');
  }
  if (rules === 'checked') {
    return usage;
  }
  // A function written as a wrapper counts as one, whatever the tests call it with.
  return executed === undefined ? null : { ...executed, wrapper: executed.wrapper || usage?.wrapper === true };
}

/**
 * Applies the published patterns. One line `return ...aux...`, or an assignment from aux and the
 * return of its variable, is a wrapper. A result counts as ignored only if a call stands alone, with a
 * blank before its bracket and one character in it.
 */
function readPublishedUsage(source: string): HelperUsage {
  const body = source
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const [first = '', second = ''] = body;
  const assigned = new RegExp(`^([A-Za-z_]\\w*)\\s*=.*\\b${HELPER_NAME}\\b`, 'u').exec(first)?.[1];
  return {
    called: new RegExp(`\\b${HELPER_NAME}\\s*\\(`, 'u').test(source),
    used: !new RegExp(`^\\s*${HELPER_NAME} \\(.\\)\\s*$`, 'mu').test(source),
    wrapper:
      body.length === 0 ||
      (body.length === 1 && first.startsWith('return ') && first.includes(HELPER_NAME)) ||
      (body.length === 2 && assigned !== undefined && second === `return ${assigned}`),
  };
}
