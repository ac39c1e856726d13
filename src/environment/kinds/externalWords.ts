/** What feedback says about a program in two functions, to the one who wrote a part of it. */
import type { Examination } from '../../domain/message.ts';

/** A role's part of the program. */
export interface Part {
  readonly role: string;
  readonly isMain: boolean;
  /** False where one role writes all. */
  readonly isPair: boolean;
  /** Of its function. */
  readonly name: string;
  readonly source: string | null;
}

/** More failed tests are counted, not listed. */
const MOST_LISTED = 10;
const MOST_SOURCE = 200;

const passedOf = ({ tests }: Examination): number => tests.filter((test) => test.passed).length;

/** Every level in a line of its own: a role's own function first. */
export function diagnostics({ isMain, isPair }: Part, examination: Examination): string[] {
  const { helper, main, entryPoint, syntax, tests } = examination;
  const definitions = [...(isPair ? [definition('aux', helper)] : []), definition(entryPoint, main)];
  const failed = tests.filter((test) => !test.passed);
  const listed = failed.slice(0, MOST_LISTED).map(({ source, detail }) => `- ${short(source)}: ${short(detail)}`);
  return [
    ...(isMain ? definitions.toReversed() : definitions),
    syntax === null
      ? 'Syntax: ok.'
      : `Syntax: error in line ${syntax.line}, column ${syntax.column}: ${syntax.message}.`,
    tests.length === 0 ? 'Tests: none were run.' : `Tests: ${passedOf(examination)} of ${tests.length} passed.`,
    ...listed,
    ...(failed.length > listed.length ? [`- and ${failed.length - listed.length} more`] : []),
    ...(isMain && isPair ? usageWords(examination) : []),
  ];
}

/** Every level in a few words. */
export function signals({ isMain, isPair }: Part, examination: Examination): string[] {
  const { helper, main, syntax, tests } = examination;
  const passed = passedOf(examination);
  const isWhole = main.returns && (!isPair || helper.returns);
  const share =
    passed === tests.length ? 'all passed' : passed === 0 ? 'none passed' : `${passed} of ${tests.length} passed`;
  return [
    `Implementation: ${isWhole ? 'ok' : 'a function is missing'}.`,
    `Syntax: ${syntax === null ? 'ok' : 'not ok'}.`,
    `Tests: ${tests.length === 0 ? 'none were run' : share}.`,
    ...(isMain && isPair ? usageWords(examination).slice(0, 1) : []),
  ];
}

/** Whether a program passed all levels: it can be parsed, has its main function, and passed one or more tests, all. */
export function verdict(examination: Examination): string {
  const { main, syntax, tests } = examination;
  const isPassed =
    syntax === null && main.source !== null && tests.length > 0 && passedOf(examination) === tests.length;
  return isPassed ? 'All levels passed.' : 'Not all levels passed.';
}

function definition(name: string, { source, returns }: Examination['main']): string {
  if (source === null) {
    return `${name}: missing; begin a line with def ${name}(...).`;
  }
  return returns ? `${name}: defined.` : `${name}: defined, but gives back no value.`;
}

function usageWords({ usage }: Examination): string[] {
  if (usage === null) {
    return [];
  }
  const use = usage.called ? (usage.used ? 'called and used' : 'called, but its value goes nowhere') : 'not called';
  return [`aux: ${use}.`, ...(usage.called && usage.wrapper ? ['Your function only hands on what aux gives.'] : [])];
}

const short = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim().slice(0, MOST_SOURCE);
