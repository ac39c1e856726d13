/** Puzzles whose solutions are changed cell by cell, digit by digit and action by action. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gradePlan, parseBlocks } from '../../../src/evaluate/puzzles/blocks.ts';
import { gradeGuess, parseSecret } from '../../../src/evaluate/puzzles/numbers.ts';
import { gradeZebra, parseZebra, writeZebra } from '../../../src/evaluate/puzzles/zebra.ts';
import type { MODELLESS_TASKS } from '../../../src/shared/runNames.ts';
import type { DemonstratedProblem } from '../../../src/tasks/demonstration.ts';
import { generateSplit } from '../../../src/tasks/split.ts';

export const draw = (
  task: (typeof MODELLESS_TASKS)[number],
  seed = 'a',
  count = 500,
  roles = 2,
): DemonstratedProblem[] => {
  const { train, evaluation } = generateSplit({ task, seed, train: (count * 3) / 4, evaluation: count / 4, roles });
  return [...train, ...evaluation];
};

const permutations = (items: readonly string[]): string[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((one) => permutations(items.filter((other) => other !== one)).map((rest) => [one, ...rest]));

type Table = readonly (readonly string[])[];

/** A zebra question, read by itself: its values, and which of its clues a table (a row for each house) breaks. */
function readZebra(question: string): { readonly values: Table; readonly broken: (table: Table) => number[] } {
  const values = [...question.matchAll(/^ - .*: (.*)$/gmu)].map(([, list = '']) =>
    [...list.matchAll(/`([^`]+)`/gu)].map(([, value = '']) => value),
  );
  const clues = [...question.matchAll(/^\d+\. (.*)\.$/gmu)].map(([, clue = '']) => clue);
  // Who is meant: the longest value that a phrase ends with, or holds.
  const all = values.flat().toSorted((one, other) => other.length - one.length);
  const who = (phrase: string): string =>
    all.find((value) => phrase.toLowerCase().endsWith(value.toLowerCase())) ?? assert.fail(phrase);
  const ordinal = ['first', 'second', 'third'];
  const breaks = (clue: string, table: Table): boolean => {
    const house = (phrase: string): number => table.findIndex((row) => row.includes(who(phrase)));
    const relations: readonly [RegExp, (one: number, other: number) => boolean][] = [
      [/^(.*) is directly left of (.*)$/u, (one, other) => other - one === 1],
      [/^(.*) is somewhere to the left of (.*)$/u, (one, other) => one < other],
      [/^(.*) and (.*) are next to each other$/u, (one, other) => Math.abs(one - other) === 1],
      [/^There is one house between (.*) and (.*)$/u, (one, other) => Math.abs(one - other) === 2],
      [/^(.*) is (?!not in|in the)(.*)$/u, (one, other) => one === other],
    ];
    const placed = /^(.*) is (not )?in the (\w+) house$/u.exec(clue);
    if (placed !== null) {
      return (house(placed[1] ?? '') === ordinal.indexOf(placed[3] ?? '')) === (placed[2] !== undefined);
    }
    for (const [form, holds] of relations) {
      const [, one, other] = form.exec(clue) ?? [];
      if (one !== undefined && other !== undefined) {
        const [left, right] = [house(one), house(other)];
        return left < 0 || right < 0 || !holds(left, right);
      }
    }
    return assert.fail(clue);
  };
  return { values, broken: (table) => clues.flatMap((clue, at) => (breaks(clue, table) ? [at] : [])) };
}

/** Piles of blocks, moved by hand: null where an action cannot be done. */
function afterAction(
  piles: readonly (readonly string[])[],
  held: string | null,
  action: string,
): readonly [Table, string | null] | null {
  const [, verb, block = '', onto] =
    /^(pick up|put down|stack|unstack) the (\w+) block(?: (?:from )?on top of the (\w+) block)?$/u.exec(action) ??
    assert.fail(action);
  const rest = piles
    .map((pile) => (pile.at(-1) === block ? pile.slice(0, -1) : pile))
    .filter((pile) => pile.length > 0);
  const top = piles.find((pile) => pile.at(-1) === block);
  switch (verb) {
    case 'pick up':
      return held === null && top?.length === 1 ? [rest, block] : null;
    case 'unstack':
      return held === null && top !== undefined && top.at(-2) === onto ? [rest, block] : null;
    case 'put down':
      return held === block ? [[...piles, [block]], null] : null;
    default:
      return held === block && piles.some((pile) => pile.at(-1) === onto)
        ? [piles.map((pile) => (pile.at(-1) === onto ? [...pile, block] : pile)), null]
        : null;
  }
}

/** What a question of Blocksworld asks for, read by itself: whether lines are a plan. */
function readBlocksQuestion(question: string): (plan: readonly string[]) => boolean {
  const [, start = '', goal = ''] = /have that, (.*)\.\nMy goal is to have that (.*)\./u.exec(question) ?? [];
  const on = (text: string): (readonly [string, string])[] =>
    [...text.matchAll(/the (\w+) block is on top of the (\w+) block/gu)].map(([, one = '', other = '']) => [
      one,
      other,
    ]);
  const below = new Map(on(start).map(([one, other]) => [other, one]));
  const piles = [...start.matchAll(/the (\w+) block is on the table/gu)].map(([, bottom = '']) => {
    const pile = [bottom];
    for (let next = below.get(bottom); next !== undefined; next = below.get(next)) {
      pile.push(next);
    }
    return pile;
  });
  return (plan) => {
    let state: readonly [Table, string | null] | null = [piles, null];
    for (const action of plan) {
      state = state === null ? null : afterAction(state[0], state[1], action);
    }
    return (
      state !== null &&
      on(goal).every(([one, other]) =>
        state[0].some((pile) => pile[pile.indexOf(one) - 1] === other && pile.includes(one)),
      )
    );
  };
}

/** @param count puzzles of each kind */
export function changedPuzzles(count: number): void {
  describe('the zebra task', () => {
    it('scores the solution of many grids 1, and each change of one cell 0, by clues that leave one solution', () => {
      const seen = { changes: 0, byClue: 0, kinds: new Set<string>() };
      for (const { question, answer, said } of draw('zebra', 'a', count)) {
        const key = parseZebra(answer) ?? assert.fail(answer);
        const table = [...key.values()].map((row) => [...row.values()]);
        const { values, broken } = readZebra(question);
        // Every table there is: only the solution keeps all clues, and all of its cells are values of the question.
        const orders = values.map(permutations);
        const tables = orders.reduce<Table[]>(
          (before, own) => before.flatMap((columns) => own.map((column) => [...columns, column])),
          [[]],
        );
        const rows = (columns: Table): Table =>
          columns[0]?.map((_, house) => columns.map((column) => column[house] ?? '')) ?? [];
        const all = tables.map(rows).map((one) => ({ one, by: broken(one) }));
        const holding = all.filter(({ by }) => by.length === 0).map(({ one }) => one);
        assert.deepEqual(holding, [table], question);
        // No clue can be left out: each alone excludes a table.
        const needed = new Set(all.flatMap(({ by }) => (by.length === 1 ? by : [])));
        assert.equal(needed.size, question.match(/^\d+\. /gmu)?.length, question);
        assert.deepEqual(gradeZebra(key, said.at(-1) ?? '', 'all'), {
          score: 1,
          rule: `zebra: ${table.flat().length} of ${table.flat().length} cells`,
        });
        for (const [house, row] of key) {
          for (const [at, [name, own]] of [...row].entries()) {
            for (const other of values[at] ?? []) {
              if (other !== own) {
                const changed = new Map(key).set(house, new Map(row).set(name, other));
                assert.equal(gradeZebra(key, `{"solution": ${writeZebra(changed)}}`, 'all').score, 0);
                const [index] = /\d/u.exec(house) ?? [];
                seen.byClue += Number(
                  broken(table.map((cells, place) => (place + 1 === Number(index) ? cells.with(at, other) : cells)))
                    .length > 0,
                );
                seen.changes += 1;
              }
            }
          }
        }
        for (const kind of ['directly', 'somewhere', 'next to', 'between', 'not in', ' in the']) {
          seen.kinds.add(question.includes(kind) ? kind : '');
        }
      }
      assert.ok(seen.changes > 8 * count && seen.byClue > 4 * count, JSON.stringify(seen));
      assert.equal(seen.kinds.size, 7);
    });
  });

  describe('the numbers task', () => {
    it('scores the solver of many games 1, and each change of one digit 0', () => {
      for (const { answer, said } of draw('numbers', 'a', count)) {
        const secret = parseSecret(answer) ?? assert.fail(answer);
        assert.equal(gradeGuess(secret, said.at(-1) ?? '').score, 1);
        assert.ok(said.length <= 12 && said.slice(0, -1).every((one) => gradeGuess(secret, one).score === 0));
        for (const [place, own] of Array.from(secret).entries()) {
          for (const other of '0123456789') {
            const changed = Array.from(secret).with(place, other).join('');
            assert.equal(gradeGuess(secret, `Guess: ${changed}`).score, other === own ? 1 : 0);
          }
        }
      }
    });
  });

  describe('the blocksworld task', () => {
    it('scores the shortest plan of many problems 1, and each change of one action by what the question says of it', () => {
      const seen = { holding: 0, broken: 0, longest: 0 };
      for (const { question, answer, said } of draw('blocksworld', 'a', count)) {
        const problem = parseBlocks(answer) ?? assert.fail(answer);
        const isPlan = readBlocksQuestion(question);
        const plan = (said.at(-1) ?? '').split('\n').slice(1, -1);
        assert.ok(isPlan(plan), `${question}\n${plan.join('\n')}`);
        assert.equal(gradePlan(problem, plan.join('\n')).score, 1);
        seen.longest = Math.max(seen.longest, plan.length);
        const { objects } = problem;
        const actions = objects.flatMap((one) => [
          `pick up the ${one} block`,
          `put down the ${one} block`,
          ...objects
            .filter((other) => other !== one)
            .flatMap((other) => [
              `stack the ${one} block on top of the ${other} block`,
              `unstack the ${one} block from on top of the ${other} block`,
            ]),
        ]);
        const changes = plan.flatMap((own, place) => [
          plan.toSpliced(place, 1),
          ...actions.filter((other) => other !== own).map((other) => plan.with(place, other)),
        ]);
        for (const changed of changes) {
          const holds = isPlan(changed);
          assert.equal(
            gradePlan(problem, changed.join('\n')).score,
            holds ? 1 : 0,
            `${question}\n${changed.join('\n')}`,
          );
          seen[holds ? 'holding' : 'broken'] += 1;
        }
      }
      assert.ok(seen.broken > 60 * count && seen.holding > count / 10 && seen.longest > 7, JSON.stringify(seen));
    });
  });
}
