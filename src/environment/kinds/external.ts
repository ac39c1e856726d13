/**
 * The external modes of the MAGRPO scripts (reference sections 6 and 7): between two turns, a helper
 * and a main role are each asked anew, with more or less detail on the result of their last function.
 * A single role is asked only about the main function.
 */

import type { Examination } from '../../domain/message.ts';
import {
  findEntryPoint,
  splitFunctions,
  pickFunctions,
  HELPER_NAME,
  joinTurnProgram,
} from '../../evaluate/python/functionSource.ts';
import type { EnvironmentInput, EnvironmentKind, EnvironmentOutcome } from '../kind.ts';
import { readExpertEdits, writeExpertPrompt, type ExpertEdits } from './expertAnswer.ts';

// Feedback on a program of two functions, for the author of one of them.

/** A role's part of the program. */
interface Part {
  readonly role: string;
  readonly isMain: boolean;
  /** False if one role writes all. */
  readonly isPair: boolean;
  /** The name of its function. */
  readonly name: string;
  readonly source: string | null;
}

/** Most failed tests that are listed; further ones are only counted. */
const MOST_LISTED = 10;
const MOST_SOURCE = 200;

const countPassed = ({ tests }: Examination): number => tests.filter((test) => test.passed).length;

/** Describes every level in its own line, a role's own function first. */
function describeLevels({ isMain, isPair }: Part, examination: Examination): string[] {
  const { helper, main, entryPoint, syntax, tests } = examination;
  const definitions = [...(isPair ? [describeDefinition('aux', helper)] : []), describeDefinition(entryPoint, main)];
  const failed = tests.filter((test) => !test.passed);
  const listed = failed
    .slice(0, MOST_LISTED)
    .map(({ source, detail }) => `- ${shortenSource(source)}: ${shortenSource(detail)}`);
  return [
    ...(isMain ? definitions.toReversed() : definitions),
    syntax === null
      ? 'Syntax: ok.'
      : `Syntax: error in line ${syntax.line}, column ${syntax.column}: ${syntax.message}.`,
    tests.length === 0 ? 'Tests: none were run.' : `Tests: ${countPassed(examination)} of ${tests.length} passed.`,
    ...listed,
    ...(failed.length > listed.length ? [`- and ${failed.length - listed.length} more`] : []),
    ...(isMain && isPair ? describeUsage(examination) : []),
  ];
}

/** Describes every level in a few words. */
function summarizeLevels({ isMain, isPair }: Part, examination: Examination): string[] {
  const { helper, main, syntax, tests } = examination;
  const passed = countPassed(examination);
  const isWhole = main.returns && (!isPair || helper.returns);
  const share =
    passed === tests.length ? 'all passed' : passed === 0 ? 'none passed' : `${passed} of ${tests.length} passed`;
  return [
    `Implementation: ${isWhole ? 'ok' : 'a function is missing'}.`,
    `Syntax: ${syntax === null ? 'ok' : 'not ok'}.`,
    `Tests: ${tests.length === 0 ? 'none were run' : share}.`,
    ...(isMain && isPair ? describeUsage(examination).slice(0, 1) : []),
  ];
}

/** Judges all levels: the program parses, has its main function, and passed all of its tests. */
function judgeLevels(examination: Examination): string {
  const { main, syntax, tests } = examination;
  const isPassed =
    syntax === null && main.source !== null && tests.length > 0 && countPassed(examination) === tests.length;
  return isPassed ? 'All levels passed.' : 'Not all levels passed.';
}

function describeDefinition(name: string, { source, returns }: Examination['main']): string {
  if (source === null) {
    return `${name}: missing; begin a line with def ${name}(...).`;
  }
  return returns ? `${name}: defined.` : `${name}: defined, but gives back no value.`;
}

function describeUsage({ usage }: Examination): string[] {
  if (usage === null) {
    return [];
  }
  const use = usage.called ? (usage.used ? 'called and used' : 'called, but its value goes nowhere') : 'not called';
  return [`aux: ${use}.`, ...(usage.called && usage.wrapper ? ['Your function only hands on what aux gives.'] : [])];
}

const shortenSource = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim().slice(0, MOST_SOURCE);

/** Describes a role's part of the program for the role; empty for no description. */
type Words = (part: Part, examination: Examination) => readonly string[];

/** Number of tests that feedback executes: the first n; the last |n| for -n; all for 0, null and `all`. */
const SLICE = { number: '1', all: ['all', 'None'] } as const;

const createLevelsKind = (name: string, words: string, say: Words): EnvironmentKind => ({
  name,
  words,
  options: { sandbox_slice: SLICE },
  derived: true,
  runsCode: true,
  run: async (input) => {
    const { problem, messages, examine, options } = input;
    const { entryPoint } = listParts(input);
    if (entryPoint === null || examine === undefined) {
      throw new Error(
        entryPoint === null
          ? 'the problem has no tests of a function; give it tests, or take the environment out'
          : 'it executes code, and the evaluator does not; choose evaluator: ladder, python or auto',
      );
    }
    const program = joinTurnProgram(
      problem,
      messages.map(({ text }) => text),
    );
    const found = await examine(problem, program, Number(options['sandbox_slice']));
    if ('masked' in found) {
      throw new Error(found.masked);
    }
    return writeRequests(input, (part) => say(part, found));
  },
});

export const levelFeedback = createLevelsKind(
  'level_feedback',
  'Reports to the helper and the main role what their functions came to, level by level, with each failed ' +
    'assertion, and asks them to revise.',
  describeLevels,
);

export const levelPassed = createLevelsKind(
  'level_passed',
  'Reports which levels their functions passed to the helper and the main role, and asks them to revise.',
  summarizeLevels,
);

export const passed = createLevelsKind(
  'passed',
  'Reports to the helper and the main role whether their program passed all levels, and asks them to revise.',
  (_, examination) => [judgeLevels(examination)],
);

export const plain: EnvironmentKind = {
  name: 'plain',
  words: 'Asks every role to revise its function, and says nothing about it.',
  options: {},
  derived: true,
  run: (input) => writeRequests(input, () => []),
};

/** Most characters of the reason why a model failed. */
const MOST_FAILURE = 300;
/** Most attempts to get readable edits from a model. */
const ATTEMPTS = 3;

export const expertEdits: EnvironmentKind = {
  name: 'expert_edits',
  words:
    'Shows a helper and a main role the edits that an expert proposes, rules or a model; it knows ' +
    'the problem and the program, never the tests.',
  options: { expert: ['rules', 'policy'] },
  derived: true,
  runsCode: true,
  run: async (input) => {
    const isAsked = input.options['expert'] === 'policy';
    const edits = await (isAsked ? requestModelEdits(input) : requestRuleEdits(input));
    const outcome = writeRequests(input, ({ isMain }) =>
      'note' in edits
        ? [`The expert proposes no edits: ${edits.note}.`]
        : [`Edits that an expert proposes:\n${isMain ? edits.main : edits.aux}`],
    );
    const said = 'note' in edits ? { edits: null, note: edits.note } : { edits: { ...edits } };
    return {
      ...outcome,
      ...('note' in edits && !isAsked ? {} : { json: { ...toObject(outcome.json), ...said } }),
      // A model's answer depends on its machine, so it is recorded and not requested again.
      ...(isAsked && { derived: false }),
    };
  },
};

/** The reason why there are no edits, in a few words. */
interface NoEdits {
  readonly note: string;
}

async function requestRuleEdits({ problem, messages, examine }: EnvironmentInput): Promise<ExpertEdits | NoEdits> {
  const program = joinTurnProgram(
    problem,
    messages.map(({ text }) => text),
  );
  // The expert does not see the tests.
  const found = examine === undefined ? null : await examine({ ...problem, ...removeTests(problem) }, program, 0);
  return found === null || 'masked' in found ? { note: 'it could not read the program' } : { ...proposeEdits(found) };
}

/** Asks until there are edits. A model that fails or gives none proposes none. */
async function requestModelEdits(input: EnvironmentInput): Promise<ExpertEdits | NoEdits> {
  const { problem, ask } = input;
  const { parts } = listParts(input);
  const isPair = parts.length === 2;
  const program = parts.map(({ name, source }) => source ?? `# ${name} is missing`).join('\n\n\n');
  const prompt = writeExpertPrompt(problem.question, program, parts.at(-1)?.name ?? '', isPair);
  let note = 'nobody can be asked here';
  for (let attempt = 0; ask !== undefined && attempt < ATTEMPTS; attempt++) {
    const answer = await ask(prompt, attempt);
    const edits = 'failed' in answer ? null : readExpertEdits(answer.text, isPair);
    if (edits !== null) {
      return edits;
    }
    note =
      'failed' in answer
        ? `it failed (${answer.failed.replace(/\.$/, '').slice(0, MOST_FAILURE)})`
        : 'its answer held no JSON object with a text for each function';
  }
  return { note };
}

const toObject = (json: EnvironmentOutcome['json']): object => (typeof json === 'object' && json !== null ? json : {});

/** Returns the problem without the expectations of its tests; the function keeps its name. */
function removeTests({ tests, question }: EnvironmentInput['problem']): Pick<EnvironmentInput['problem'], 'tests'> {
  const entryPoint = findEntryPoint({ question, ...(tests !== undefined && { tests }) });
  return tests === undefined ? {} : { tests: { ...tests, tests: [], test: '', setup: '', entryPoint } };
}

/**
 * Returns the parts by author: the first role wrote the helper, the last the main function; a single
 * role wrote both.
 */
function listParts({ problem, messages }: EnvironmentInput): { entryPoint: string | null; parts: readonly Part[] } {
  const entryPoint = findEntryPoint(problem);
  const [first, last] = [messages[0], messages.at(-1)];
  if (first === undefined || last === undefined) {
    return { entryPoint, parts: [] };
  }
  const name = entryPoint ?? '';
  const isPair = first !== last;
  const found = isPair ? pickFunctions(first.text, last.text, name) : splitFunctions(last.text, name);
  const main: Part = { role: last.role, isMain: true, isPair, name, source: found.main };
  return {
    entryPoint,
    parts: isPair
      ? [{ role: first.role, isMain: false, isPair, name: HELPER_NAME, source: found.helper }, main]
      : [main],
  };
}

/** Writes the request to each role: the description of its part, and the request to revise it. */
function writeRequests(input: EnvironmentInput, say: (part: Part) => readonly string[]): EnvironmentOutcome {
  const { parts } = listParts(input);
  const prompts = parts.map((part): [string, string] => {
    const request = `Revise your function${part.name === '' ? '' : ` ${part.name}`}. Write the code only.`;
    return [part.role, [...say(part), request].join('\n')];
  });
  return {
    text: prompts.map(([role, prompt]) => (prompts.length === 1 ? prompt : `To ${role}:\n${prompt}`)).join('\n\n'),
    json: {
      prompts: Object.fromEntries(prompts),
      extracted: Object.fromEntries(parts.map(({ role, source }) => [role, source])),
    },
  };
}

// The edits that rules propose for a program of two functions, without any knowledge of its tests.

/** The proposed change of each function; `perfect` if nothing is to change. */
interface Edits {
  readonly aux: string;
  readonly main: string;
}

/** Proposes one edit for each function, the first that applies. A pure function. */
function proposeEdits({ helper, main, entryPoint, syntax, usage }: Examination): Edits {
  return {
    aux: proposeFunctionEdit('aux', helper, syntax) ?? 'perfect',
    main: proposeFunctionEdit(entryPoint, main, syntax) ?? proposeUsageEdit(usage) ?? 'perfect',
  };
}

function proposeFunctionEdit(
  name: string,
  { source, returns }: Examination['main'],
  syntax: Examination['syntax'],
): string | null {
  if (source === null) {
    return `Add the function: def ${name}(...):`;
  }
  if (!returns) {
    return 'Replace the last line by a return of its value.';
  }
  return syntax === null ? null : `Correct the line that cannot be parsed (${syntax.message}).`;
}

function proposeUsageEdit(usage: Examination['usage']): string | null {
  if (usage === null || (usage.used && !usage.wrapper)) {
    return null;
  }
  return usage.wrapper && usage.called
    ? 'Do your own part of the work with the value of aux before you return it.'
    : 'Assign the value of aux(...) and use it in what you return.';
}
