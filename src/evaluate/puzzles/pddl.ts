/**
 * Reads and writes a subset of PDDL: STRIPS domains without types, and problems whose goal is a
 * conjunction. Names are not case-sensitive. A fact is its text, such as `(on a b)`.
 */

import { C3Error } from '../../shared/errors.ts';

/** An operator. Its facts may name parameters, such as `(on ?x ?y)`. */
export interface Operator {
  readonly name: string;
  /** With their question marks, in order. */
  readonly parameters: readonly string[];
  readonly needs: readonly string[];
  readonly adds: readonly string[];
  readonly removes: readonly string[];
}

export interface Domain {
  readonly name: string;
  /** The number of arguments of each predicate. */
  readonly predicates: ReadonlyMap<string, number>;
  readonly operators: ReadonlyMap<string, Operator>;
}

export interface PddlProblem {
  readonly name: string;
  readonly domain: string;
  readonly objects: readonly string[];
  readonly init: readonly string[];
  readonly goal: readonly string[];
}

type Expression = string | readonly Expression[];

const MOST_LENGTH = 100_000;
const MOST_DEPTH = 20;
const MOST_OBJECTS = 100;
const MOST_OPERATORS = 100;
const NAME = /^[a-z][a-z0-9_-]{0,59}$/u;
const VARIABLE = /^\?[a-z][a-z0-9_-]{0,59}$/u;

const refusePddl = (problem: string): never => {
  throw new C3Error('input', `The PDDL ${problem}.`);
};

/**
 * Reads `(define (domain NAME) (:requirements :strips) (:predicates ...) (:action ...) ...)`.
 * @throws C3Error('input') if the text is not in the subset
 */
export function readDomain(text: string): Domain {
  const { name, parts } = readDefinition(text, 'domain');
  const predicates = new Map<string, number>();
  const operators = new Map<string, Operator>();
  for (const [key, ...rest] of parts) {
    if (key === ':predicates') {
      for (const one of rest) {
        const [predicate = '', ...parameters] = readWordList(one, 'predicates');
        predicates.set(checkPddlName(predicate, 'predicate'), parameters.length);
      }
    } else if (key === ':action') {
      const operator = readOperator(rest, predicates);
      operators.set(operator.name, operator);
    } else if (key !== ':requirements' || rest.some((one) => one !== ':strips')) {
      refusePddl(
        `has ${quoteExpression(key)}, and only :requirements :strips, :predicates and :action are read in a domain`,
      );
    }
  }
  if (operators.size === 0 || operators.size > MOST_OPERATORS) {
    refusePddl(`domain ${name} needs 1 to ${MOST_OPERATORS} actions`);
  }
  return { name, predicates, operators };
}

/**
 * Reads `(define (problem NAME) (:domain NAME) (:objects ...) (:init ...) (:goal (and ...)))`.
 * @param domain the domain of the predicates in its facts
 * @throws C3Error('input') if the text is not in the subset, or a fact is not of the domain
 */
export function readProblem(text: string, { predicates }: Pick<Domain, 'predicates'>): PddlProblem {
  const { name, parts } = readDefinition(text, 'problem');
  const of = (key: string): readonly Expression[] => {
    const found = parts.filter(([first]) => first === key);
    return found.length === 1 ? (found[0]?.slice(1) ?? []) : refusePddl(`problem ${name} needs one ${key}`);
  };
  const other = parts.find(
    ([key]) => ![':domain', ':objects', ':init', ':goal', ':requirements'].includes(String(key)),
  );
  if (other !== undefined) {
    refusePddl(
      `problem ${name} has ${quoteExpression(other[0])}, and only :domain, :objects, :init and :goal are read`,
    );
  }
  const objects = readWordList(of(':objects'), 'objects').map((one) => checkPddlName(one, 'object'));
  if (objects.length === 0 || objects.length > MOST_OBJECTS || new Set(objects).size !== objects.length) {
    refusePddl(`problem ${name} needs 1 to ${MOST_OBJECTS} different objects`);
  }
  const facts = (list: readonly Expression[]): string[] =>
    list.map((one) => readFact(one, predicates, (argument) => objects.includes(argument)));
  const goals = facts(readConjunction(of(':goal'), 'goal'));
  if (goals.length === 0) {
    refusePddl(`problem ${name} has an empty goal`);
  }
  const [domain = ''] = readWordList(of(':domain'), 'domain');
  return { name, domain, objects, init: facts(of(':init')), goal: goals };
}

/** Writes the text that readProblem reads, on one line. */
export const writeProblem = ({ name, domain, objects, init, goal }: PddlProblem): string =>
  `(define (problem ${name}) (:domain ${domain}) (:objects ${objects.join(' ')}) (:init ${init.join(' ')}) (:goal (and ${goal.join(' ')})))`;

function readOperator(parts: readonly Expression[], predicates: ReadonlyMap<string, number>): Operator {
  const [first, ...rest] = parts;
  const name = checkPddlName(typeof first === 'string' ? first : '', 'action');
  const fields = new Map<string, Expression>();
  for (let index = 0; index + 1 < rest.length; index += 2) {
    fields.set(String(rest[index]), rest[index + 1] ?? []);
  }
  if ([...fields.keys()].some((key) => ![':parameters', ':precondition', ':effect'].includes(key))) {
    refusePddl(`action ${name} has more than :parameters, :precondition and :effect`);
  }
  const parameters = readWordList(fields.get(':parameters') ?? [], `parameters of ${name}`);
  const isKnown = (argument: string): boolean => VARIABLE.test(argument) && parameters.includes(argument);
  const listed = (key: string): readonly Expression[] =>
    readConjunction([fields.get(key) ?? ['and']], `${key} of ${name}`);
  const effects = listed(':effect');
  const isRemoved = (one: Expression): boolean => typeof one !== 'string' && one[0] === 'not';
  return {
    name,
    parameters,
    needs: listed(':precondition').map((one) => readFact(one, predicates, isKnown)),
    adds: effects.filter((one) => !isRemoved(one)).map((one) => readFact(one, predicates, isKnown)),
    removes: effects.filter(isRemoved).map((one) => readFact(one[1] ?? '', predicates, isKnown)),
  };
}

/** Returns the parts of `(define (KIND NAME) PART ...)`. */
function readDefinition(
  text: string,
  kind: 'domain' | 'problem',
): { readonly name: string; readonly parts: readonly (readonly Expression[])[] } {
  const [define, head, ...parts] = readParenthesized(text);
  const [given, name = ''] = typeof head === 'string' || head === undefined ? [] : head.map(String);
  if (define !== 'define' || given !== kind) {
    refusePddl(`does not begin with (define (${kind} NAME)`);
  }
  const lists = parts.flatMap((part) => (typeof part === 'string' ? [] : [part]));
  return lists.length === parts.length
    ? { name: checkPddlName(name, kind), parts: lists }
    : refusePddl('has a word between its parts');
}

/** Reads the one expression in parentheses that a text consists of, apart from comments. */
function readParenthesized(text: string): readonly Expression[] {
  if (text.length > MOST_LENGTH) {
    refusePddl(`has more than ${MOST_LENGTH} characters`);
  }
  const top: Expression[] = [];
  const open: Expression[][] = [top];
  for (const [token] of text
    .toLowerCase()
    .replaceAll(/;[^\n]*/gu, '')
    .matchAll(/[()]|[^\s()]+/gu)) {
    const here = open.at(-1) ?? top;
    if (token === '(') {
      const inner: Expression[] = [];
      here.push(inner);
      open.push(inner);
    } else if (token === ')') {
      open.pop();
    } else {
      here.push(token);
    }
    if (open.length === 0 || open.length > MOST_DEPTH) {
      refusePddl(
        open.length === 0 ? 'closes a parenthesis that is not open' : `is nested more than ${MOST_DEPTH} deep`,
      );
    }
  }
  const [only] = top;
  return open.length === 1 && top.length === 1 && only !== undefined && typeof only !== 'string'
    ? only
    : refusePddl(open.length > 1 ? 'has a parenthesis that is not closed' : 'is not one expression in parentheses');
}

function readConjunction(list: readonly Expression[], what: string): readonly Expression[] {
  const [only] = list;
  if (list.length !== 1 || only === undefined || typeof only === 'string') {
    return refusePddl(`needs one expression as ${what}`);
  }
  return only[0] === 'and' ? only.slice(1) : only.length === 0 ? [] : [only];
}

function readFact(
  one: Expression,
  predicates: ReadonlyMap<string, number>,
  isKnown: (argument: string) => boolean,
): string {
  const [predicate = '', ...given] = readWordList(one, 'facts');
  if (predicates.get(predicate) !== given.length || !given.every(isKnown)) {
    refusePddl(
      `has ${quoteExpression(`(${[predicate, ...given].join(' ')})`)}, which is no fact of its domain and objects`,
    );
  }
  return `(${[predicate, ...given].join(' ')})`;
}

function readWordList(one: Expression, what: string): readonly string[] {
  const list = typeof one === 'string' ? [] : one.flatMap((word) => (typeof word === 'string' ? [word] : []));
  return typeof one !== 'string' && list.length === one.length
    ? list
    : refusePddl(`has other than words in its ${what}`);
}

const checkPddlName = (name: string, what: string): string =>
  NAME.test(name) ? name : refusePddl(`calls a ${what} ${quoteExpression(name)}, which is no name`);

const quoteExpression = (one: Expression | undefined): string => JSON.stringify(String(one ?? '').slice(0, 60));
