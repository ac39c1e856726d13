/** Choosing a run, and going to the message that cost an episode: with what the editor is asked to show. */

import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { findCostliestMessage } from '../../../../src/extension/transcript/transcriptSession.ts';
import { addRun, RUN, temporaryStore } from '../storeFixture.ts';

interface Shown {
  readonly items: readonly { readonly label: string; readonly kind?: number; readonly description?: string }[];
  readonly placeHolder: string;
}
const asked: Shown[] = [];
Object.assign(globalThis, {
  c3Picked: (items: Shown['items'], options: Shown) => {
    asked.push({ items, placeHolder: options.placeHolder });
    return Promise.resolve(items.find(({ kind }) => kind === undefined));
  },
});
const EDITOR =
  'export const QuickPickItemKind = { Separator: -1 }; export const window = { showQuickPick: (items, options) => globalThis.c3Picked(items, options) };';
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true }
      : next(specifier, context),
});
const { pickRun } = await import('../../../../src/extension/sidebar/pick.ts');

test('a run is asked for only where there are several, the newest first', async (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => store.remove());
  addRun(writer);
  assert.equal(await pickRun(writer, 'Show buckets'), RUN);
  assert.equal(asked.length, 0, 'one run needs no question');
  addRun(writer, 'newer', '2027-01-01T00:00:00.000Z');
  assert.equal(await pickRun(writer, 'Show buckets'), 'newer');
  assert.deepEqual(
    asked.at(-1)?.items.map(({ label }) => label),
    ['Run newer', `Run ${RUN}`],
  );
});

test('a message is called the lowest-credit one only where its interval lies below 0; else it is the clearest candidate', () => {
  const target = { run: RUN, phase: 'train', iteration: 1, problem: 'i' } as const;
  const reader = (decided: boolean | null): Parameters<typeof findCostliestMessage>[0] => ({
    costliestOf: () => (decided === null ? null : { message: 1, value: -0.1, decided }),
    costliestThrough: (message) => (decided === null ? null : { message: message + 1, value: -0.1, decided }),
  });
  assert.deepEqual(findCostliestMessage(reader(true), target, null), {
    message: 1,
    words: 'Lowest-credit message of this transcript.',
  });
  assert.deepEqual(findCostliestMessage(reader(false), target, 7), {
    message: 8,
    words: 'Clearest candidate of this episode; no message is known to have hurt.',
  });
  const none = findCostliestMessage(reader(null), target, null);
  assert.match(
    typeof none === 'string' ? none : '',
    /^No message of this transcript has a credit .*replay its alternatives/u,
  );
});
