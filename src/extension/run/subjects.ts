/** The bundled teams and example configurations that a run can start from. */

import type { TeamTask } from '../../shared/runNames.ts';

export interface BundledTeam {
  readonly label: string;
  readonly description: string;
  /** Overrides that choose the team. */
  readonly overrides: readonly string[];
}

/** The bundled team of each task. */
export const BUNDLED_TEAMS: Readonly<Record<TeamTask, BundledTeam>> = {
  arithmetic: { label: 'Bundled team', description: 'arithmetic, a reasoner and an actor', overrides: [] },
  python: {
    label: 'Bundled Python team',
    description: 'small functions with unit tests, a planner and a coder',
    overrides: ['task.name=python'],
  },
  dealer: {
    label: 'Bundled dealer team',
    description: 'hands of a card game, a dealer and a player',
    overrides: ['task.name=dealer'],
  },
  functions: {
    label: 'Bundled functions team',
    description: 'functions in two parts, a helper and a main role',
    overrides: ['task.name=functions'],
  },
  logic: {
    label: 'Bundled logic team',
    description: 'questions with four options, three voters credited by ccpo',
    overrides: ['task.name=logic', 'task.roles=3', 'method=ccpo'],
  },
  chain: {
    label: 'Bundled chain team',
    description: 'chains of letters, two roles in one context',
    overrides: ['task.name=chain'],
  },
  hints: {
    label: 'Bundled hints team',
    description: 'stories of two steps, a thinker whose plan is a hint and a solver',
    overrides: ['task.name=hints'],
  },
};

/** Descriptions of the files of media/examples, by name. */
export const EXAMPLES: Readonly<Record<string, string>> = {
  'feedback.c3.yaml': 'hears of a wrong answer and tries again, up to three rounds',
  'calculator.c3.yaml': "a tool computes the reasoner's expression",
  'voters.c3.yaml': 'four voters who do not see each other',
  'three-voters.c3.yaml': 'three voters credited by removal (ccpo)',
  'logic-voters.c3.yaml': 'voters of logic questions, credited by removal (ccpo)',
  'logic-sizes.c3.yaml': 'the same with a third voter of half of the weights',
  'functions-turns.c3.yaml': "functions in two turns, trained by MAGRPO's tree",
  'code-alone.c3.yaml': 'functions by one role, evaluated only',
  'code-parallel.c3.yaml': 'functions by two roles who do not see each other, evaluated only',
  'code-sequential.c3.yaml': 'functions, the second role sees the first, evaluated only',
  'code-discussion.c3.yaml': 'functions, each role sees what both wrote, evaluated only',
};

/** A fault that keeps a configuration from being run. */
export interface FirstFault {
  readonly message: string;
  /** UTF-16 units from the start of the text. */
  readonly start: number;
  readonly end: number;
}

/** Returns the first problem that keeps a configuration from starting, or null if none does. */
export function selectFirstFault(
  faults: readonly (FirstFault & { readonly severity?: 'warning' | 'information' })[],
): FirstFault | null {
  return faults.find(({ severity }) => severity === undefined) ?? null;
}
