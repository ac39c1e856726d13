/** Words that are typed into the search of the episodes panel, and what is chosen before they were asked for. */

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { CLEAREST_FIRST, NO_PROBLEM_FILTER, type ProblemFilter } from '../../../src/domain/problem.ts';
import { makeDocument, MadeElement, makeToolkit } from './madeDocument.ts';

makeDocument();
makeToolkit();
const page = new EventTarget();
Object.defineProperty(globalThis, 'window', { configurable: true, value: page });
const { Toolbar } = await import('../../../webview/episodes/toolbar.ts');

/** Longer than the toolbar waits for another letter. */
const A_WHILE = 1_000;

interface Desk {
  readonly asked: ProblemFilter[];
  readonly field: MadeElement & { value?: string };
  readonly chooser: MadeElement & { value?: string };
  readonly type: (words: string) => void;
  readonly press: (name: string) => void;
}

function desk(): Desk {
  const asked: ProblemFilter[] = [];
  const nothing = (): void => undefined;
  const toolbar = new Toolbar({
    filter: (filter) => {
      asked.push(filter);
      // As the panel shows the answer.
      toolbar.update(filter, CLEAREST_FIRST, null);
    },
    save: nothing,
    remove: nothing,
    classify: nothing,
    leave: nothing,
  });
  const saved = { ...NO_PROBLEM_FILTER, search: 'hens' };
  toolbar.show([{ name: 'Hens', filter: saved, sort: CLEAREST_FIRST }]);
  const element: unknown = toolbar.element;
  assert.ok(element instanceof MadeElement);
  const named = (name: string): MadeElement => {
    const found = element.all().find((one) => one.textContent === name || one.attributes.get('aria-label') === name);
    assert.ok(found !== undefined, name);
    return found;
  };
  const field: Desk['field'] = named('Search questions, messages and metadata');
  return {
    asked,
    field,
    chooser: named('Saved filters'),
    type: (words) => {
      field.focus();
      field.value = words;
      field.fire('input');
    },
    press: (name) => named(name).click(),
  };
}

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ['setTimeout'] });
});

test('Clear right after words were typed clears them too: the list stays whole and the field is empty', () => {
  const { asked, field, type, press } = desk();
  type('canary');
  mock.timers.tick(A_WHILE);
  type('canary bird');
  press('Clear');
  mock.timers.tick(A_WHILE);
  assert.deepEqual(
    asked.map(({ search }) => search),
    ['canary', ''],
  );
  assert.equal(field.value, '');
});

test('a saved filter that is chosen right after words were typed takes their place', () => {
  const { asked, field, chooser, type } = desk();
  type('canary');
  chooser.value = 'Hens';
  chooser.fire('change');
  mock.timers.tick(A_WHILE);
  assert.deepEqual(
    asked.map(({ search }) => search),
    ['hens'],
  );
  assert.equal(field.value, 'hens');
});

test('words typed right before the page is hidden are asked for, once', () => {
  const { asked, type } = desk();
  type('hens');
  page.dispatchEvent(new Event('blur'));
  assert.deepEqual(
    asked.map(({ search }) => search),
    ['hens'],
  );
  mock.timers.tick(A_WHILE);
  assert.equal(asked.length, 1);
});
