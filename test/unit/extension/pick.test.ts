/** Choosing an episode, and going to the message that cost it: with what the editor is asked to show. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { costliestMessage } from '../../../src/extension/costliest.ts';
import { addRun, addTree, instance, LEDGER, RUN, temporaryStore } from './storeFixture.ts';

interface Shown {
  readonly items: readonly { readonly label: string; readonly kind?: number; readonly description?: string }[];
  readonly placeHolder: string;
}
const asked: Shown[] = [];
Object.assign(globalThis, { c3Picked: (items: Shown['items'], options: Shown) => {
  asked.push({ items, placeHolder: options.placeHolder });
  return Promise.resolve(items.find(({ kind }) => kind === undefined));
} });
const EDITOR = 'export const QuickPickItemKind = { Separator: -1 }; export const window = { showQuickPick: (items, options) => globalThis.c3Picked(items, options) };';
registerHooks({
  resolve: (specifier, context, next) => (specifier === 'vscode' ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true } : next(specifier, context)),
});
const { pickEpisode } = await import('../../../src/extension/pick.ts');

test('of the rounds the steps stand first, of the episodes the lost ones, each kind under its name', async (t) => {
  const { writer, ...store } = temporaryStore();
  t.after(() => { store.remove(); });
  addRun(writer);
  writer.insertStep({ run: RUN, iteration: 1, snapshot: 'a'.repeat(64), ledger: LEDGER });
  addTree(writer, { iteration: 1, instance: instance(0), returns: [[0, 0]] });
  addTree(writer, { iteration: 1, instance: instance(1), returns: [[1, 0, null, 0.5, 0]] });
  addTree(writer, { phase: 'evaluate', iteration: 1, instance: instance(1), returns: [[1]] });
  const chosen = await pickEpisode(writer, 'Open transcript');
  assert.deepEqual(asked.at(-2)?.items.map(({ label, kind }) => (kind === -1 ? `-- ${label}` : label)), [
    '-- Several attempts at each problem, with credits', 'Step 1', '-- One attempt each', 'Evaluation before, greedy',
  ]);
  const { items, placeHolder } = asked.at(-1) ?? { items: [], placeHolder: '' };
  assert.deepEqual(items.map(({ label, kind, description }) => (kind === -1 ? `-- ${label}` : description?.split(',')[0])), [
    '-- Lost', 'return 0', 'return 0', 'return 0', 'return 0', '-- Neither lost nor won', 'return 0.5', '-- Won', 'return 1', '-- Not scored', 'masked: the evaluator failed',
  ]);
  assert.match(placeHolder, /lost stand first/u);
  assert.deepEqual([chosen?.episode.return, chosen?.episode.instance], [0, instance(1).uidSha], 'a loss that another attempt shows to be somebody\'s');
});

test('a message is called the lowest-credit one only where its interval lies below 0; else it is the clearest candidate', () => {
  const target = { run: RUN, phase: 'train', iteration: 1, instance: 'i' } as const;
  const reader = (decided: boolean | null): Parameters<typeof costliestMessage>[0] => ({
    costliestOf: () => (decided === null ? null : { message: 1, value: -0.1, decided }),
    costliestThrough: (message) => (decided === null ? null : { message: message + 1, value: -0.1, decided }),
  });
  assert.deepEqual(costliestMessage(reader(true), target, null), { message: 1, words: 'Lowest-credit message of this transcript.' });
  assert.deepEqual(costliestMessage(reader(false), target, 7), { message: 8, words: 'Clearest candidate of this episode; no message is decided to have hurt.' });
  const none = costliestMessage(reader(null), target, null);
  assert.match(typeof none === 'string' ? none : '', /^No message of this transcript has a credit .*replay its alternatives/u);
});
