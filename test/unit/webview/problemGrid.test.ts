/** What a key or a click in the grid of problems means while another order is on its way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER } from '../../../src/domain/problem.ts';
import {
  NO_PLACE,
  PROBLEM_WINDOW,
  type ProblemPlace,
  type ShownProblem,
} from '../../../src/shared/protocols/episodesProtocol.ts';
import { makeDocument, MadeElement, nextFrame } from './madeDocument.ts';

makeDocument();
const { COLUMNS } = await import('../../../webview/episodes/columns.ts');
const { sparkPoints } = await import('../../../webview/episodes/columns.ts');
const { rowElement } = await import('../../../webview/episodes/rows.ts');
const { Grid } = await import('../../../webview/episodes/grid.ts');
const FACETS = { total: 100, trained: 100, evaluated: 0, roles: [], filled: [] };

function problem(id: number): ShownProblem {
  return {
    id,
    problem: String(id),
    uid: String(id),
    source: '',
    level: null,
    question: `Problem ${id}`,
    cut: false,
    rounds: [],
    greedyBefore: null,
    sampledBefore: null,
    greedyAfter: null,
    sampledAfter: null,
    meanReturn: null,
    returns: 0,
    masked: 0,
    clearest: null,
    handScore: null,
    handReturns: 0,
    tags: [],
    tokens: { prompt: 0, reused: 0, completion: 0 },
    seconds: null,
    evaluatorCalls: 0,
    scale: null,
    problemClass: null,
    lost: null,
  };
}

/** A host that answers when it is asked to: layouts and rows are two messages. */
class Host {
  readonly grid: InstanceType<typeof Grid>;
  readonly opened: number[] = [];
  readonly chosen: number[] = [];
  /** How often all rows in sight were those of the newest order. */
  placed = 0;
  private readonly element: MadeElement;
  private asked: number[] = [];
  private revision = 0;
  private ids: readonly number[] = [];

  constructor(ids: readonly number[]) {
    this.grid = new Grid({
      ask: (revision, offset) => {
        assert.equal(revision, this.revision);
        this.asked.push(offset);
      },
      sort: () => undefined,
      open: ({ id }) => this.opened.push(id),
      choose: (id) => this.chosen.push(id),
      moved: () => undefined,
      placed: () => {
        this.placed++;
      },
      command: () => undefined,
    });
    const element: unknown = this.grid.element;
    assert.ok(element instanceof MadeElement);
    this.element = element;
    element.clientHeight = 240;
    this.layout(ids, false);
    this.rows();
  }

  layout(ids: readonly number[], asked = true, place: ProblemPlace = NO_PLACE): void {
    this.ids = ids;
    this.revision++;
    this.asked = [];
    const at = place.active === null ? -1 : ids.indexOf(place.active);
    this.grid.layout(
      {
        revision: this.revision,
        rows: ids.length,
        facets: FACETS,
        filter: NO_PROBLEM_FILTER,
        sort: CLEAREST_FIRST,
        active: at < 0 ? null : at,
        top: null,
        of: place.active,
        milliseconds: 0,
      },
      place,
      asked,
    );
    nextFrame();
  }

  rows(): void {
    for (const offset of this.asked.splice(0)) {
      this.grid.accept(this.revision, offset, this.ids.slice(offset, offset + PROBLEM_WINDOW).map(problem));
    }
    nextFrame();
  }

  press(key: string): void {
    this.element.fire('keydown', { key, ctrlKey: false, altKey: false, metaKey: false, shiftKey: false });
    nextFrame();
  }

  row(id: number): MadeElement {
    const found = this.element
      .ofClass('row')
      .find((row) =>
        row.ofClass('cell-question').some(({ attributes }) => attributes.get('aria-label') === `Problem ${id}`),
      );
    assert.ok(found !== undefined, `problem ${id} is on screen`);
    return found;
  }

  click(id: number): void {
    this.element.fire('click', { target: this.row(id) });
    nextFrame();
  }

  get selected(): string | null {
    const row = this.element.ofClass('row').find(({ attributes }) => attributes.get('aria-selected') === 'true');
    return row?.ofClass('cell-question')[0]?.attributes.get('aria-label') ?? null;
  }
}

test('the order is in place when its rows are drawn, not when they are counted', () => {
  const host = new Host([1, 2, 3]);
  const before = host.placed;
  host.layout([7]);
  assert.equal(host.placed, before);
  host.rows();
  assert.equal(host.placed, before + 1);
  host.layout([]);
  assert.equal(host.placed, before + 2, 'an order without rows waits for none');
});

test('a click on a row that is still drawn from the order before chooses its problem, not the one that takes its place', () => {
  const host = new Host([1, 2, 3, 4]);
  host.layout([4, 3, 2, 1]);
  host.click(2);
  assert.deepEqual(host.chosen, [2]);
  host.rows();
  assert.equal(host.selected, 'Problem 4', 'until the host says where it is');
  host.layout([4, 3, 2, 1], true, { ...NO_PLACE, active: 2 });
  host.rows();
  assert.equal(host.selected, 'Problem 2');
});

test('a click while another order was asked for chooses the problem that was clicked', () => {
  const host = new Host([1, 2, 3, 4]);
  host.grid.expect();
  host.click(3);
  assert.deepEqual(host.chosen, [3]);
  host.layout([9, 8, 7, 6]);
  host.rows();
  assert.equal(host.selected, 'Problem 9');
});

test('arrows pressed while another order was asked for count from its first row, and Enter opens where they led', () => {
  const host = new Host([1, 2, 3, 4]);
  host.press('End');
  assert.equal(host.selected, 'Problem 4');
  host.grid.expect();
  host.press('ArrowDown');
  assert.equal(host.selected, 'Problem 4', 'the order before has no part in it');
  host.press('Enter');
  host.layout([9, 8, 7, 6]);
  host.rows();
  assert.equal(host.selected, 'Problem 8');
  assert.deepEqual(host.opened, [8]);
});

test('keys for more rows than the order that comes has lead to its last', () => {
  const host = new Host([1, 2, 3, 4]);
  host.grid.expect();
  host.press('End');
  host.layout([9, 8]);
  host.rows();
  assert.equal(host.selected, 'Problem 8');
});

test('an arrow pressed while a growing run is listed anew is not taken back', () => {
  const host = new Host([1, 2, 3, 4]);
  host.click(2);
  const known = { ...NO_PLACE, active: 2 };
  host.press('ArrowDown');
  assert.equal(host.selected, 'Problem 3');
  // Made before the host knew of the key.
  host.layout([9, 1, 2, 3, 4], true, known);
  host.rows();
  assert.equal(host.selected, 'Problem 3');
  host.layout([9, 8, 1, 2, 3, 4], true, { ...NO_PLACE, active: 3 });
  host.rows();
  assert.equal(host.selected, 'Problem 3', 'what the host knows of stays selected');
});

test('keys pressed while one layout after the other comes are all kept', () => {
  const host = new Host([1, 2, 3, 4, 5]);
  host.click(2);
  const known = { ...NO_PLACE, active: 2 };
  host.press('ArrowDown');
  host.layout([9, 1, 2, 3, 4, 5], true, known);
  host.layout([9, 8, 1, 2, 3, 4, 5], true, known);
  host.press('ArrowDown');
  host.layout([9, 8, 7, 1, 2, 3, 4, 5], true, known);
  host.rows();
  assert.deepEqual([host.selected, host.chosen], ['Problem 4', []]);
});

test('a key pressed before the first rows of an order are here is not taken back by the next', () => {
  const host = new Host([1, 2, 3, 4]);
  host.grid.expect();
  host.layout([4, 3, 2, 1]);
  host.press('ArrowDown');
  host.layout([4, 3, 2, 1, 5]);
  host.rows();
  assert.equal(host.selected, 'Problem 3');
});

test('the last row of an order that was awaited does not hold its place at the end', () => {
  const host = new Host([1, 2, 3, 4]);
  host.grid.expect();
  host.press('End');
  host.layout([4, 3, 2, 1]);
  host.rows();
  host.layout([4, 3, 2, 1, 5], true, { ...NO_PLACE, active: 1 });
  host.rows();
  assert.equal(host.selected, 'Problem 1');
});

test('another run is read from its top', () => {
  const host = new Host([1, 2, 3, 4]);
  host.press('ArrowDown');
  host.press('ArrowDown');
  host.grid.restart();
  host.layout([11, 12, 13, 14]);
  host.rows();
  assert.equal(host.selected, 'Problem 11');
});

test('what was clicked in an older order is what the grid says is selected, until the host has found it', () => {
  const host = new Host([1, 2, 3, 4]);
  host.layout([4, 3, 2, 1, 5]);
  host.click(2);
  host.rows();
  assert.equal(host.grid.place.active, 2);
});

test('where rows came between, the problem that was meant is asked for', () => {
  const host = new Host([1, 2, 3, 4]);
  host.click(2);
  host.click(4);
  host.layout([1, 2, 9, 3, 4], true, { ...NO_PLACE, active: 2 });
  host.rows();
  assert.deepEqual(host.chosen, [4]);
  host.layout([1, 2, 9, 3, 4], true, { ...NO_PLACE, active: 4 });
  host.rows();
  assert.deepEqual([host.selected, host.chosen], ['Problem 4', [4]]);
});

test('a problem that was clicked in an older order is selected, though rows of the newest came before its place', () => {
  const host = new Host([1, 2, 3, 4]);
  host.layout([4, 3, 2, 1]);
  host.click(2);
  host.rows();
  host.layout([4, 3, 2, 1], true, { ...NO_PLACE, active: 2 });
  host.rows();
  assert.equal(host.selected, 'Problem 2');
});

test('Enter right after a click on a row that another order displaces opens the problem that was clicked', () => {
  const host = new Host([1, 2, 3, 4]);
  host.layout([4, 3, 2, 1]);
  host.click(2);
  host.press('Enter');
  host.rows();
  assert.deepEqual(host.opened, [], 'not what took its place');
  host.layout([4, 3, 2, 1], true, { ...NO_PLACE, active: 2 });
  host.rows();
  assert.deepEqual([host.opened, host.selected], [[2], 'Problem 2']);
});

test('without another order a click and a key mean the rows on screen', () => {
  const host = new Host([1, 2, 3, 4]);
  host.click(3);
  assert.equal(host.selected, 'Problem 3');
  host.press('ArrowUp');
  host.press('Enter');
  assert.deepEqual([host.selected, host.opened, host.chosen], ['Problem 2', [2], []]);
});

test('each evaluation has its own column and its own screen reader text', () => {
  const row = { ...problem(1), greedyBefore: 0, sampledBefore: 0.25, greedyAfter: 1, sampledAfter: 0.75 };
  const said = COLUMNS.filter(({ name }) => name === 'before' || name === 'after').map(({ cell, words }) => {
    const made: unknown = cell(row, 0);
    assert.ok(made instanceof MadeElement);
    return [made.textContent, words(row, 0)];
  });
  assert.deepEqual(said, [
    ['0.25 mean', 'before greedy 0, sampled 0.25'],
    ['0.75 mean', 'after greedy 1, sampled 0.75'],
  ]);
});

test('the last outcome of a problem is within its column', () => {
  const column = COLUMNS.find(({ name }) => name === 'outcome');
  const rounds = [1, 2, 3, 4].map((iteration) => ({ phase: 'evaluate', iteration, mean: 1, episodes: 1 }) as const);
  const last = sparkPoints(rounds, null).at(-1);
  assert.ok(column !== undefined && last !== undefined);
  assert.ok(last.x < column.least && column.width === `${column.least}px`, JSON.stringify([last, column]));
});

test('every cell has its whole text on hovering, as a screen reader has it', () => {
  const made: unknown = rowElement(problem(1), 0, COLUMNS);
  assert.ok(made instanceof MadeElement);
  const cells = made.children;
  assert.equal(cells.length, COLUMNS.length);
  for (const cell of cells) {
    assert.equal(cell.attributes.get('title'), cell.attributes.get('aria-label'));
    assert.notEqual(cell.attributes.get('title'), '');
  }
});
