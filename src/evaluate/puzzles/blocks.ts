/** Blocksworld with four operators: the domain, and problems and plans in PDDL and English. */

import { C3Error } from '../../shared/errors.ts';
import { readDomain, readProblem, type PddlProblem } from './pddl.ts';
import { validatePlan, type Action, type PlanVerdict } from './strips.ts';

/** The domain, under the name that its problems use. */
export const BLOCKS = readDomain(`
(define (domain blocksworld-4ops)
  (:requirements :strips)
  (:predicates (clear ?x) (ontable ?x) (handempty) (holding ?x) (on ?x ?y))
  (:action pick-up :parameters (?x)
    :precondition (and (clear ?x) (ontable ?x) (handempty))
    :effect (and (holding ?x) (not (clear ?x)) (not (ontable ?x)) (not (handempty))))
  (:action put-down :parameters (?x)
    :precondition (holding ?x)
    :effect (and (clear ?x) (handempty) (ontable ?x) (not (holding ?x))))
  (:action stack :parameters (?x ?y)
    :precondition (and (clear ?y) (holding ?x))
    :effect (and (handempty) (clear ?x) (on ?x ?y) (not (clear ?y)) (not (holding ?x))))
  (:action unstack :parameters (?x ?y)
    :precondition (and (on ?x ?y) (clear ?x) (handempty))
    :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (handempty)))))`);

/** The rules in English, with which a question begins. */
const BLOCKS_RULES = [
  'I am playing with a set of blocks. I can pick up a block, unstack a block from on top of another block, put down a block, and stack a block on top of another block.',
  'My hand holds one block at most. I can only pick up a block that is clear and on the table, and only unstack a block that is clear and really on top of the other block.',
  'A block is clear if no other block is on top of it and it is not held. I can only stack onto a clear block.',
].join('\n');

/** PlanBench's names for the blocks a, b, c and so on of its problems. */
export const BLOCK_COLORS: readonly string[] =
  'red blue orange yellow white magenta black cyan green violet silver gold'.split(' ');

const MOST_LENGTH = 100_000;
const MOST_ACTIONS = 1000;

/**
 * Reads a problem of Blocksworld in PDDL.
 * @returns null if the text is not one
 */
export function parseBlocks(text: string): PddlProblem | null {
  try {
    return readProblem(text, BLOCKS);
  } catch (error) {
    if (error instanceof C3Error) {
      return null;
    }
    throw error;
  }
}

/** Writes a problem in English: `As initial conditions I have that, ... My goal is to have that ...`. */
export function writeBlocksStatement({ init, goal }: Pick<PddlProblem, 'init' | 'goal'>): string {
  const listed = (facts: readonly string[]): string => {
    const said = facts.map(formatFact);
    return said.length < 2 ? said.join('') : `${said.slice(0, -1).join(', ')} and ${said.at(-1) ?? ''}`;
  };
  return `As initial conditions I have that, ${listed(init)}.\nMy goal is to have that ${listed(goal)}.`;
}

/** Writes the question for a problem: the rules, the problem, and the form of the answer. */
export const writeBlocksQuestion = (problem: Pick<PddlProblem, 'init' | 'goal'>): string =>
  `${BLOCKS_RULES}\n\n${writeBlocksStatement(problem)}\n\nAnswer with the plan between [PLAN] and [PLAN END], one action on each line: pick up the A block, put down the A block, stack the A block on top of the B block, unstack the A block from on top of the B block.`;

/**
 * Reads the problem in the last statement of a text, in the English of PlanBench.
 * @param name name of the problem
 * @returns null if there is none, or if a part of it is not a fact about blocks
 */
export function readStatement(text: string, name: string): PddlProblem | null {
  const start = text.toLowerCase().lastIndexOf('as initial conditions i have that');
  const match =
    start < 0 || text.length > MOST_LENGTH
      ? null
      : /^as initial conditions i have that,?([^.]*)\.\s*my goal is to have that([^.]*)\./u.exec(
          text.slice(start).toLowerCase(),
        );
  if (match === null) {
    return null;
  }
  const [init, goal] = [readFactList(match[1] ?? ''), readFactList(match[2] ?? '')];
  if (init === null || goal === null) {
    return null;
  }
  const objects = [...new Set([...init, ...goal].flatMap((one) => one.slice(1, -1).split(' ').slice(1)))];
  const of = (facts: readonly string[]): string => facts.join(' ');
  return parseBlocks(
    `(define (problem ${name}) (:domain ${BLOCKS.name}) (:objects ${objects.join(' ')}) (:init ${of(init)}) (:goal (and ${of(goal)})))`,
  );
}

/** Writes an action in English, such as `unstack the red block from on top of the blue block`. */
export function formatAction({ name, objects: [first = '', second = ''] }: Action): string {
  switch (name) {
    case 'stack':
      return `stack the ${first} block on top of the ${second} block`;
    case 'unstack':
      return `unstack the ${first} block from on top of the ${second} block`;
    default:
      return `${name.replace('-', ' ')} the ${first} block`;
  }
}

/**
 * Reads the plan in a message, one action a line, in PDDL or in English; other lines are skipped. The
 * plan begins at `[PLAN]`, if the message has one, and ends at `[PLAN END]` or at the next
 * `[STATEMENT]`.
 * @param objects the names of the blocks
 */
export function readPlan(message: string, objects: readonly string[]): Action[] {
  const text = message.slice(0, MOST_LENGTH).toLowerCase();
  const begin = text.indexOf('[plan]');
  const [section = ''] = text.slice(begin < 0 ? 0 : begin + '[plan]'.length).split(/\[plan end\]|\[statement\]/u, 1);
  const plan: Action[] = [];
  for (const line of section.split('\n')) {
    plan.push(...readActions(line, objects));
    if (plan.length > MOST_ACTIONS) {
      break;
    }
  }
  return plan;
}

/** Scores the plan in a message: 1 for any plan that can be executed and reaches the goal. */
export function gradePlan(problem: PddlProblem, message: string): PlanVerdict {
  const plan = readPlan(message, problem.objects);
  if (plan.length === 0) {
    return { score: 0, rule: 'plan: no action' };
  }
  return plan.length > MOST_ACTIONS
    ? { score: 0, rule: `plan: more than ${MOST_ACTIONS} actions` }
    : validatePlan(BLOCKS, problem, plan);
}

const IN_PDDL = /\(\s*(pick-up|put-down|stack|unstack)\s+([a-z0-9_-]+)(?:\s+([a-z0-9_-]+))?\s*\)/gu;
const IN_ENGLISH = /\b(pick[ -]?up|put[ -]?down|unstack|stack)\b/u;

function readActions(line: string, objects: readonly string[]): Action[] {
  const written = [...line.matchAll(IN_PDDL)].map(([, name = '', ...given]): Action => ({
    name,
    objects: given.filter((one) => typeof one === 'string' && one !== ''),
  }));
  const verb = IN_ENGLISH.exec(line)?.[1];
  if (written.length > 0 || verb === undefined) {
    return written;
  }
  const name = verb.replace(/^(pick|put)[ -]?(up|down)$/u, '$1-$2');
  // Takes each block once, in the order in which the line names them, as the published reader does.
  const named = [...new Set(line.match(/[a-z0-9_-]+/gu) ?? [])].filter((word) => objects.includes(word));
  return named.length === BLOCKS.operators.get(name)?.parameters.length ? [{ name, objects: named }] : [];
}

function formatFact(fact: string): string {
  const [predicate = '', first = '', second = ''] = fact.slice(1, -1).split(' ');
  switch (predicate) {
    case 'on':
      return `the ${first} block is on top of the ${second} block`;
    case 'ontable':
      return `the ${first} block is on the table`;
    case 'clear':
      return `the ${first} block is clear`;
    case 'holding':
      return `the hand is holding the ${first} block`;
    default:
      return 'the hand is empty';
  }
}

const FACTS: readonly (readonly [form: RegExp, fact: string])[] = [
  [/^the hand is empty$/u, '(handempty)'],
  [/^the ([a-z][a-z0-9_-]*) block is clear$/u, '(clear $1)'],
  [/^the ([a-z][a-z0-9_-]*) block is on the table$/u, '(ontable $1)'],
  [/^the hand is(?: currently)? holding (?:the )?([a-z][a-z0-9_-]*) block$/u, '(holding $1)'],
  [/^the ([a-z][a-z0-9_-]*) block is on top of the ([a-z][a-z0-9_-]*) block$/u, '(on $1 $2)'],
];

function readFactList(text: string): string[] | null {
  const parts = text
    .split(/,|\band\b/u)
    .map((part) => part.replaceAll(/\s+/gu, ' ').trim())
    .filter((part) => part !== '');
  const facts = parts.flatMap((part) => {
    const [form, fact = ''] = FACTS.find(([known]) => known.test(part)) ?? [];
    return form === undefined ? [] : [part.replace(form, fact)];
  });
  return facts.length === parts.length && facts.length > 0 ? facts : null;
}
