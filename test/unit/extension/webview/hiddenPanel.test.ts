/**
 * A hidden panel costs nothing: no message is sent to it, and nothing is read for it. Counted on panels that are in
 * for the editor's.
 */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { registerHooks } from 'node:module';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { TAXONOMY_THRESHOLDS } from '../../../../src/domain/taxonomy.ts';
import { modelFacts, runPlan } from '../model/modelFixture.ts';
import { addRequest, addRun, addTree, problem, RUN, temporaryStore } from '../storeFixture.ts';

// What these modules take from the editor when they are loaded.
const EDITOR =
  'export const Uri = { joinPath: (base, ...parts) => ({ toString: () => [base, ...parts].join("/") }) }; export const ViewColumn = {}; export const commands = {}; export const env = {}; export const window = {}; export class CancellationTokenSource {} export class EventEmitter {} export class Position {} export const ProgressLocation = {}; export class Range {} export class TabInputWebview {} export const workspace = { getConfiguration: () => ({ get: (_, value) => value }) };';
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true }
      : next(specifier, context),
});
const { Dashboard } = await import('../../../../src/extension/dashboard/dashboardPanel.ts');
const { ModelPanel } = await import('../../../../src/extension/model/modelPanel.ts');
const { TaxonomyPanels } = await import('../../../../src/extension/taxonomy/taxonomyPanels.ts');
const { TranscriptPanels } = await import('../../../../src/extension/transcript/transcriptPanels.ts');

/** A panel as far as its owner sees it. */
class Panel {
  readonly posts: unknown[] = [];
  visible = true;
  active = true;
  title = '';
  readonly events = new EventEmitter();
  readonly webview = {
    cspSource: '',
    html: '',
    options: {},
    asWebviewUri: (uri: unknown) => uri,
    postMessage: (message: unknown) => {
      this.posts.push(message);
      return Promise.resolve(true);
    },
    onDidReceiveMessage: (listener: (message: unknown) => void) => this.on('message', listener),
  };

  sent(): number {
    return this.posts.length;
  }

  on(name: string, listener: (argument: unknown) => void): { dispose(): void } {
    this.events.on(name, listener);
    return { dispose: () => this.events.off(name, listener) };
  }

  onDidChangeViewState(listener: () => void): { dispose(): void } {
    return this.on('state', listener);
  }

  reveal(): void {
    this.active = true;
  }

  onDidDispose(listener: () => void): { dispose(): void } {
    return this.on('gone', listener);
  }

  show(visible: boolean): void {
    this.visible = visible;
    this.active = visible;
    this.events.emit('state');
  }

  says(message: unknown): void {
    this.events.emit('message', message);
  }
}

const FOLDER = '/models/qwen';
/** Tells what a folder holds, and tests it without end; nothing else is asked of an engine here. */
const MODEL_ENGINE = {
  inspectModel: () => Promise.resolve(modelFacts(FOLDER)),
  plan: () => Promise.resolve(runPlan(['weights'])),
  testModel: () => new Promise(() => undefined),
};

/** Services that count how often the store is asked for, and keep what was logged. */
function services(): {
  readonly parts: never;
  readonly change: () => void;
  readonly errors: readonly string[];
  reads: number;
} {
  const events = new EventEmitter();
  const on =
    (name: string) =>
    (listener: () => void): { dispose(): void } => {
      events.on(name, listener);
      return { dispose: () => events.off(name, listener) };
    };
  const errors: string[] = [];
  const counted = {
    reads: 0,
    errors,
    change: () => {
      events.emit('store');
      events.emit('run');
      events.emit('test', { folder: FOLDER, progress: { kind: 'load', done: 1, total: 2 } });
    },
    parts: {
      extensionUri: 'extension',
      log: { error: (line: string) => errors.push(line) },
      store: {
        onDidChange: on('store'),
        pending: () => null,
        reader: () => {
          counted.reads++;
          return store.writer;
        },
      },
      comparing: { marked: null, onDidMark: on('mark') },
      thresholds: { get: () => TAXONOMY_THRESHOLDS },
      runs: { onDidChange: on('run'), current: null },
      engine: {
        onReplayProgress: on('replay'),
        onTestModelProgress: (listener: (of: unknown) => void) => {
          events.on('test', listener);
          return { dispose: () => events.off('test', listener) };
        },
        unavailable: () => null,
        client: () => MODEL_ENGINE,
      },
    } as never,
  };
  return counted;
}

const store = temporaryStore();
after(() => store.remove());
addRun(store.writer);
const tree = addTree(store.writer, { iteration: 1, problem: problem(1), returns: [[1]] });

const TARGET = { run: RUN, phase: 'train', iteration: 1, problem: problem(1).uidSha };
const ALL = { role: null, credit: null, outcome: null, label: null, lane: null };
const CASES = { verdict: null, role: null, labels: 'all' };
const KINDS = {
  dashboard: {
    make: (parts: never) =>
      new Dashboard(parts, {
        keeper: { get: () => undefined, update: () => Promise.resolve() },
        showRound: () => Promise.resolve(),
        openMessage: () => undefined,
      }),
    state: { version: 4, run: RUN, compared: [], tables: [], smoothing: 'none', paused: null, scroll: 0 },
    ready: { type: 'ready' },
  },
  transcript: {
    make: (parts: never) => new TranscriptPanels(parts),
    state: {
      version: 5,
      target: TARGET,
      selected: null,
      collapsed: [],
      opened: [],
      filter: ALL,
      query: '',
      asWritten: false,
      keysOpen: false,
      whyOpen: true,
      compared: null,
      top: null,
      drafts: [],
      scroll: 0,
    },
    ready: { type: 'ready', selected: null, collapsed: [], others: [], filter: ALL },
  },
  taxonomy: {
    make: (parts: never) => new TaxonomyPanels(parts, () => undefined),
    state: { version: 2, run: RUN, filter: CASES, limit: 50, opened: null, finding: null, draft: null, scroll: 0 },
    ready: { type: 'ready', filter: CASES, limit: 50 },
  },
  model: {
    make: (parts: never) =>
      new ModelPanel(parts, { remember: () => Promise.resolve(), wasChosen: () => true } as never),
    state: { version: 1, folder: FOLDER, settings: { adapterRank: 16, device: 'cpu' } },
    ready: { type: 'ready' },
    // What is in progress while it is hidden.
    begin: { type: 'test' },
  },
} as const;

/** What is in progress in turns of its own comes to its end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) {
    await setImmediate();
  }
}

for (const [name, { make, state, ready, ...more }] of Object.entries(KINDS)) {
  test(`${name}: while it is hidden nothing is sent and nothing is read, and its page gets all when it is shown again`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const counted = services();
    const panel = new Panel();
    make(counted.parts).restore(panel as never, state);
    assert.equal(panel.sent(), 0, 'a page that has not said "ready" does not listen');
    panel.says(ready);
    if ('begin' in more) {
      panel.says(more.begin);
    }
    await settle();
    t.mock.timers.tick(1000);
    const shown = panel.sent();
    assert.ok(shown > 0);
    panel.show(false);
    const reads = counted.reads;
    for (let time = 0; time < 20; time++) {
      counted.change();
    }
    await settle();
    t.mock.timers.tick(1000);
    assert.deepEqual([panel.sent(), counted.reads], [shown, reads]);
    panel.show(true);
    panel.says(ready);
    await settle();
    assert.ok(panel.sent() > shown);
    panel.events.emit('gone');
  });
}

test('a page that stays blank is loaded again while it is visible, at longer and longer intervals, three times', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { make, state, ready } = KINDS.transcript;
  const { parts, errors } = services();
  const panel = new Panel();
  make(parts).restore(panel as never, state);
  let shown = panel.webview.html;
  /** Whether another page was loaded since this was asked last. */
  const loaded = (): boolean => {
    const before = shown;
    shown = panel.webview.html;
    return shown !== before;
  };
  const wait = (seconds: number): boolean => {
    t.mock.timers.tick(seconds * 1000);
    return loaded();
  };
  // The editor gives a script up after 30 s.
  assert.deepEqual([wait(44), wait(1)], [false, true]);
  assert.deepEqual([wait(89), wait(1)], [false, true]);
  panel.show(false);
  assert.equal(wait(1000), false, 'a hidden page is loaded when it is shown');
  panel.show(true);
  assert.deepEqual([wait(179), wait(1), errors.length], [false, true, 3]);
  assert.deepEqual([wait(359), errors.length, wait(1), errors.length], [false, 3, false, 4]);
  assert.match(errors.at(-1) ?? '', /^transcript: the page did not load; close its tab and open it again/u);
  assert.deepEqual([wait(10_000), errors.length], [false, 4]);
  // One that loads is left alone, and what fails later is counted anew.
  panel.show(false);
  panel.show(true);
  panel.says(ready);
  assert.deepEqual([wait(10_000), errors.length], [false, 4]);
  panel.show(false);
  panel.show(true);
  assert.deepEqual([wait(44), wait(1)], [false, true]);
  panel.events.emit('gone');
  assert.equal(wait(10_000), false, 'a closed one is not loaded');
});

/** What a transcript panel sent its page, as far as it says where things are. */
function told(panel: Panel): readonly (readonly [type: string, where: number | undefined])[] {
  return panel.posts.splice(0).map((message) => {
    const { type, layout, place } = message as {
      readonly type: string;
      readonly layout?: { readonly rows: number };
      readonly place?: { readonly index: number };
    };
    return [type, layout?.rows ?? place?.index];
  });
}

test('a transcript that grew while it was hidden, or since the store was last looked at, shows and finds what was added', async () => {
  const { make, state, ready } = KINDS.transcript;
  const counted = services();
  const panel = new Panel();
  const panels = make(counted.parts);
  panels.restore(panel as never, state);
  panel.says(ready);
  await settle();
  const rows = 3;
  assert.deepEqual(told(panel), [['opened', rows]]);
  panel.show(false);
  const asked = tree[0]?.actors[0] ?? -1;
  addRequest(store.writer, asked, ['other'], [0]);
  counted.change();
  panel.show(true);
  panel.says(ready);
  await settle();
  assert.deepEqual(
    told(panel),
    [['opened', rows + 2]],
    'nobody tells it of the store again: a lane, and the replay in it',
  );
  // One that the detail pane lists before the tree heard of it: the page asks for the layout first, and is then sent
  // the place in it.
  const [another] = addRequest(store.writer, asked, ['another'], [0]).alternatives;
  panel.says({ type: 'locate', message: another });
  assert.deepEqual(told(panel), [['changed', undefined]]);
  panel.says(ready);
  await settle();
  assert.deepEqual(told(panel), [
    ['opened', rows + 3],
    ['reveal', rows + 2],
  ]);
  panel.says({ type: 'locate', message: another });
  assert.deepEqual(told(panel), [['reveal', rows + 2]], 'at once where the page has the layout');
  // The same by a link, and behind a filter.
  panel.says({ type: 'filter', filter: { ...ALL, role: 'reasoner' }, collapsed: [], others: [asked] });
  assert.deepEqual(
    (panel.posts[0] as { readonly layout: unknown }).layout,
    {
      revision: 4,
      rows: 2,
      messages: rows - 1,
      matching: 1,
      replayed: { requests: 2, replays: 2, messages: 2, matching: 0 },
      lanes: [],
      places: [],
      near: [{ message: asked, index: 1 }],
    },
    'where what stood in sight would be',
  );
  assert.deepEqual(told(panel), [['opened', 2]]);
  const [third] = addRequest(store.writer, asked, ['third'], [0]).alternatives;
  panels.open(TARGET as never, third ?? -1);
  assert.deepEqual(told(panel), [
    ['changed', undefined],
    ['focus', undefined],
  ]);
  panel.says(ready);
  await settle();
  assert.deepEqual(told(panel), [
    ['opened', rows + 4],
    ['reveal', rows + 3],
  ]);
  // Nothing was added: nothing is laid out anew.
  counted.change();
  assert.deepEqual(told(panel), []);
  panel.events.emit('gone');
});
