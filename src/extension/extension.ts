/** Activation: makes the parts and joins them. Nothing is opened or started before it is needed. */
import { Uri, window, type ExtensionContext, type WebviewPanel } from 'vscode';
import { isRecord } from '../shared/guard.ts';
import { openMessage, registerCommands } from './commands.ts';
import { BucketsTree } from './bucketsTree.ts';
import { ConfigurationLanguage } from './configuration/language.ts';
import { Dashboard, DASHBOARD_VIEW } from './dashboardPanel.ts';
import { registerLinks } from './deepLinks.ts';
import { Doctor } from './doctor.ts';
import { Engine } from './engine.ts';
import { Episodes, EPISODES_VIEW } from './episodesPanel.ts';
import { classesOf } from './episodesSession.ts';
import { NO_FILTER, TAXONOMY_THRESHOLDS } from '../shared/taxonomy.ts';
import { InterruptedRuns } from './interruptedRuns.ts';
import { Log } from './log.ts';
import { ModelFolders } from './modelFolders.ts';
import { ModelPanel, MODEL_VIEW } from './modelPanel.ts';
import { registerReportEditor } from './reportEditor.ts';
import { Reports } from './reports.ts';
import { RunController } from './runController.ts';
import { RunsTable, RUNS_TABLE_VIEW } from './runsTablePanel.ts';
import { RunsTree } from './runsTree.ts';
import { createStatusBar } from './statusBar.ts';
import { StoreAccess } from './storeAccess.ts';
import { TaxonomyPanels, TAXONOMY_VIEW } from './taxonomyPanels.ts';
import { RememberedThresholds } from './taxonomyThresholds.ts';
import { TranscriptPanels, TRANSCRIPT_VIEW } from './transcriptPanels.ts';
import { Comparing } from './comparing.ts';
import { registerDocuments } from './documents.ts';
import { Verifier } from './verifier.ts';

let engine: Engine | null = null;

export function activate(context: ExtensionContext): void {
  const { extensionUri } = context;
  const log = new Log();
  const store = new StoreAccess(Uri.joinPath(extensionUri, 'dist', 'examineStore.js').fsPath);
  engine = new Engine({ script: Uri.joinPath(extensionUri, 'dist', 'engine.js').fsPath, version: versionOf(context.extension.packageJSON) }, store, log);
  const runs = new RunController(engine, store, log);
  const modelFolders = new ModelFolders(context.workspaceState);
  const services = { modelFolders, extensionUri, log, store, engine, runs, verifier: new Verifier(engine, store, log), comparing: new Comparing(store), thresholds: new RememberedThresholds(context.workspaceState) };
  const tree = new RunsTree(store, runs, log, context.workspaceState);
  const buckets = new BucketsTree(store, context.workspaceState);
  const transcripts = new TranscriptPanels(services);
  const taxonomies = new TaxonomyPanels(services, (message) => { openMessage(services, transcripts, message); });
  const dashboard = new Dashboard(services, (run, phase, iteration) => tree.showRound(run, phase, iteration));
  const runsTable = new RunsTable(services, (compared) => { dashboard.openCompared(compared); });
  const episodes = new Episodes(services, {
    keeper: context.workspaceState,
    classesOf: async (run) => classesOf(await services.engine.client().taxonomy({ run, thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 0, fresh: true, problems: true })),
    openTranscript: (target, message, beside) => { transcripts.open(target, message, beside).panel.reveal(); },
  });
  const reports = new Reports();
  const doctor = new Doctor(engine, reports);
  const model = new ModelPanel(services, modelFolders);
  context.subscriptions.push(
    log,
    store,
    runs,
    tree,
    buckets,
    tree.onDidChooseRun((run) => { buckets.show(run); }),
    reports,
    services.comparing,
    registerDocuments(store, engine),
    registerReportEditor(),
    createStatusBar(runs),
    new InterruptedRuns(services, context.workspaceState),
    new ConfigurationLanguage(services, Uri.joinPath(extensionUri, 'dist', 'overlap.mjs').fsPath),
    registerCommands(services, { extension: context.extension, tree, buckets, transcripts, taxonomies, dashboard, episodes, runsTable, doctor, model, modelFolders, reports }),
    registerLinks(services, { openRun: (run) => { dashboard.open(run); }, openMessage: (message) => { openMessage(services, transcripts, message); } }),
    ...serializers([[TRANSCRIPT_VIEW, transcripts], [TAXONOMY_VIEW, taxonomies], [DASHBOARD_VIEW, dashboard], [EPISODES_VIEW, episodes], [RUNS_TABLE_VIEW, runsTable], [MODEL_VIEW, model]]),
  );
  // A run may go on that an earlier window, another one or a command asked for.
  engine.attach();
}

/** The version in the extension's manifest. */
function versionOf(manifest: unknown): string {
  const version = isRecord(manifest) ? manifest['version'] : undefined;
  return typeof version === 'string' ? version : '';
}

export async function deactivate(): Promise<void> {
  await engine?.dispose();
}

/** Panels come back after a reload with the state that their pages kept. */
function serializers(views: readonly (readonly [string, { restore(panel: WebviewPanel, state: unknown): void }])[]): { dispose(): void }[] {
  return views.map(([view, owner]) =>
    window.registerWebviewPanelSerializer(view, {
      deserializeWebviewPanel: (panel, state) => {
        owner.restore(panel, state);
        return Promise.resolve();
      },
    }),
  );
}
