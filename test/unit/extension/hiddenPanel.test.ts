/** A hidden panel costs nothing: no message is sent to it, and nothing is read for it. Counted on panels that stand in for the editor's. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { registerHooks } from 'node:module';
import { after, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { TAXONOMY_THRESHOLDS } from '../../../src/shared/taxonomy.ts';
import { addRun, addTree, instance, RUN, temporaryStore } from './storeFixture.ts';

// What these modules take from the editor when they are loaded.
const EDITOR = 'export const Uri = { joinPath: (base, ...parts) => ({ toString: () => [base, ...parts].join("/") }) }; export const ViewColumn = {}; export const commands = {}; export const env = {}; export const window = {}; export class CancellationTokenSource {} export class EventEmitter {} export const workspace = { getConfiguration: () => ({ get: (_, value) => value }) };';
registerHooks({
  resolve: (specifier, context, next) => (specifier === 'vscode' ? { url: `data:text/javascript,${encodeURIComponent(EDITOR)}`, shortCircuit: true } : next(specifier, context)),
});
const { Dashboard } = await import('../../../src/extension/dashboardPanel.ts');
const { TaxonomyPanels } = await import('../../../src/extension/taxonomyPanels.ts');
const { TranscriptPanels } = await import('../../../src/extension/transcriptPanels.ts');

/** A panel as far as its owner sees it. */
class Panel {
  private posts = 0;
  visible = true;
  active = true;
  title = '';
  readonly events = new EventEmitter();
  readonly webview = {
    cspSource: '', html: '', options: {},
    asWebviewUri: (uri: unknown) => uri,
    postMessage: () => { this.posts++; return Promise.resolve(true); },
    onDidReceiveMessage: (listener: (message: unknown) => void) => this.on('message', listener),
  };

  sent(): number {
    return this.posts;
  }

  on(name: string, listener: (argument: unknown) => void): { dispose(): void } {
    this.events.on(name, listener);
    return { dispose: () => { this.events.off(name, listener); } };
  }

  onDidChangeViewState(listener: () => void): { dispose(): void } {
    return this.on('state', listener);
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

/** Services that count how often the store is asked for. */
function services(): { readonly parts: never; readonly change: () => void; reads: number } {
  const events = new EventEmitter();
  const on = (name: string) => (listener: () => void): { dispose(): void } => {
    events.on(name, listener);
    return { dispose: () => { events.off(name, listener); } };
  };
  const counted = {
    reads: 0,
    change: () => { events.emit('store'); events.emit('run'); },
    parts: {
      extensionUri: 'extension',
      log: { error: () => undefined },
      store: { onDidChange: on('store'), reader: () => { counted.reads++; return store.writer; } },
      comparing: { marked: null, onDidMark: on('mark') },
      thresholds: { get: () => TAXONOMY_THRESHOLDS },
      runs: { onDidChange: on('run'), current: null },
      engine: { onReplayProgress: on('replay'), unavailable: () => null, client: () => { throw new Error('not asked for'); } },
    } as never,
  };
  return counted;
}

const store = temporaryStore();
after(() => { store.remove(); });
addRun(store.writer);
addTree(store.writer, { iteration: 1, instance: instance(1), returns: [[1]] });

const TARGET = { run: RUN, phase: 'train', iteration: 1, instance: instance(1).uidSha };
const ALL = { role: null, credit: null, outcome: null, label: null };
const CASES = { verdict: null, role: null, labels: 'all' };
const KINDS = {
  dashboard: {
    make: (parts: never) => new Dashboard(parts, () => Promise.resolve()),
    state: { version: 3, run: RUN, compared: [], tables: [], smoothing: 'none', scroll: 0 },
    ready: { type: 'ready' },
  },
  transcript: {
    make: (parts: never) => new TranscriptPanels(parts),
    state: { version: 4, target: TARGET, selected: null, collapsed: [], filter: ALL, query: '', compared: null, top: null, drafts: [], scroll: 0 },
    ready: { type: 'ready', selected: null, collapsed: [], others: [], filter: ALL },
  },
  taxonomy: {
    make: (parts: never) => new TaxonomyPanels(parts, () => undefined),
    state: { version: 2, run: RUN, filter: CASES, limit: 50, opened: null, finding: null, draft: null, scroll: 0 },
    ready: { type: 'ready', filter: CASES, limit: 50 },
  },
} as const;

/** What goes on in turns of its own comes to its end. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await setImmediate();
}

for (const [name, { make, state, ready }] of Object.entries(KINDS)) {
  test(`${name}: while it is hidden nothing is sent and nothing is read, and its page gets all when it is shown again`, async () => {
    const counted = services();
    const panel = new Panel();
    make(counted.parts).restore(panel as never, state);
    assert.equal(panel.sent(), 0, 'a page that has not said "ready" does not listen');
    panel.says(ready);
    await settle();
    const shown = panel.sent();
    assert.ok(shown > 0);
    panel.show(false);
    const reads = counted.reads;
    for (let time = 0; time < 20; time++) counted.change();
    await settle();
    assert.deepEqual([panel.sent(), counted.reads], [shown, reads]);
    panel.show(true);
    panel.says(ready);
    await settle();
    assert.ok(panel.sent() > shown);
    panel.events.emit('gone');
  });
}
