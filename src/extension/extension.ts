/** Activation: creates and connects the parts of the extension, which open resources on first use. */

import { Uri, window, type ExtensionContext, type WebviewPanel } from 'vscode';
import { NO_FILTER, TAXONOMY_THRESHOLDS } from '../domain/taxonomy.ts';
import { isRecord } from '../shared/guard.ts';
import { DASHBOARD_PANEL } from '../shared/protocols/dashboardProtocol.ts';
import { EPISODES_PANEL } from '../shared/protocols/episodesProtocol.ts';
import { MODEL_PANEL } from '../shared/protocols/modelProtocol.ts';
import type { Panel } from '../shared/protocols/panel.ts';
import { RUNS_PANEL } from '../shared/protocols/runsTable.ts';
import { TAXONOMY_PANEL } from '../shared/protocols/taxonomyProtocol.ts';
import { TRANSCRIPT_PANEL } from '../shared/protocols/transcriptProtocol.ts';
import { TRIAL_PANEL } from '../shared/protocols/trialProtocol.ts';
import { openMessage, registerCommands } from './commands.ts';
import { Log } from './common/log.ts';
import { Reports } from './common/reports.ts';
import { ConfigurationLanguage } from './configuration/language.ts';
import { Dashboard } from './dashboard/dashboardPanel.ts';
import { RunsTable } from './dashboard/runsTablePanel.ts';
import { Comparing } from './documents/comparing.ts';
import { registerDocuments } from './documents/documents.ts';
import { Doctor } from './engine/doctor.ts';
import { createEditorModels } from './engine/editorModels.ts';
import { EndpointKeys } from './engine/endpointKeys.ts';
import { Engine } from './engine/engine.ts';
import { StoreAccess } from './engine/storeAccess.ts';
import { addToTerminals } from './engine/terminals.ts';
import { Verifier } from './engine/verifier.ts';
import { Episodes } from './episodes/episodesPanel.ts';
import { toProblemClasses } from './episodes/episodesSession.ts';
import { registerFindingTests } from './findings/findingTests.ts';
import { ModelFolders } from './model/modelFolders.ts';
import { ModelPanel } from './model/modelPanel.ts';
import { InterruptedRuns } from './run/interruptedRuns.ts';
import { RunController } from './run/runController.ts';
import { createStatusBar } from './run/statusBar.ts';
import { registerAssistantTools } from './sharing/assistantTools.ts';
import { registerLinks } from './sharing/deepLinks.ts';
import { registerReportEditor } from './sharing/reportEditor.ts';
import { BucketsTree } from './sidebar/bucketsTree.ts';
import { RunsTree } from './sidebar/runsTree.ts';
import { TaxonomyPanels } from './taxonomy/taxonomyPanels.ts';
import { RememberedThresholds } from './taxonomy/taxonomyThresholds.ts';
import { TranscriptPanels } from './transcript/transcriptPanels.ts';
import { Trials } from './trial/trials.ts';

let engine: Engine | null = null;

export function activate(context: ExtensionContext): void {
  const { extensionUri } = context;
  const log = new Log();
  const examiner = Uri.joinPath(extensionUri, 'dist', 'examineStore.js').fsPath;
  const store = new StoreAccess(examiner, context.workspaceState);
  const keys = new EndpointKeys(context.secrets, context.globalState, () => engine?.offerKeys());
  engine = new Engine(
    {
      script: Uri.joinPath(extensionUri, 'dist', 'engine.js').fsPath,
      version: readExtensionVersion(context.extension.packageJSON),
      keys: () => keys.all(),
      editor: createEditorModels(context),
    },
    store,
    log,
  );
  const runs = new RunController(engine, store, log);
  const modelFolders = new ModelFolders(context.workspaceState);
  const services = {
    modelFolders,
    extensionUri,
    log,
    store,
    engine,
    runs,
    verifier: new Verifier(engine, store, log),
    comparing: new Comparing(store),
    thresholds: new RememberedThresholds(context.workspaceState),
    programs: new Map<string, readonly string[]>(),
  };
  const tree = new RunsTree(store, runs, log, context.workspaceState);
  const buckets = new BucketsTree(store, context.workspaceState);
  const transcripts = new TranscriptPanels(services);
  const taxonomies = new TaxonomyPanels(services, (message) => openMessage(services, transcripts, message));
  const dashboard = new Dashboard(services, {
    keeper: context.workspaceState,
    showRound: (run, phase, iteration) => tree.showRound(run, phase, iteration),
    openMessage: (message) => openMessage(services, transcripts, message),
  });
  const runsTable = new RunsTable(services, context.workspaceState, (compared) => dashboard.openCompared(compared));
  const episodes = new Episodes(services, {
    keeper: context.workspaceState,
    classesOf: async (run) =>
      toProblemClasses(
        await services.engine
          .client()
          .taxonomy({ run, thresholds: TAXONOMY_THRESHOLDS, filter: NO_FILTER, limit: 0, fresh: true, problems: true }),
      ),
    openTranscript: (target, message, beside) => transcripts.open(target, message, beside),
  });
  const trials = new Trials(services, context.workspaceState);
  const reports = new Reports();
  const doctor = new Doctor(engine, reports);
  const model = new ModelPanel(services, modelFolders);
  context.subscriptions.push(
    log,
    keys,
    store,
    runs,
    tree,
    buckets,
    tree.onDidChooseRun((run) => buckets.show(run)),
    reports,
    services.comparing,
    trials,
    registerDocuments(store, engine, trials.documents),
    registerReportEditor(),
    ...registerAssistantTools(services),
    registerFindingTests(services),
    createStatusBar(runs),
    new InterruptedRuns(services, context.workspaceState),
    new ConfigurationLanguage(services, Uri.joinPath(extensionUri, 'dist', 'overlap.mjs').fsPath),
    registerCommands(services, {
      extension: context.extension,
      tree,
      buckets,
      transcripts,
      taxonomies,
      dashboard,
      episodes,
      runsTable,
      trials,
      doctor,
      model,
      modelFolders,
      reports,
      keys,
    }),
    registerLinks(services, {
      openRun: (run) => dashboard.open(run),
      openMessage: (message) => openMessage(services, transcripts, message),
    }),
    ...registerSerializers(store, [
      [TRANSCRIPT_PANEL, transcripts],
      [TAXONOMY_PANEL, taxonomies],
      [DASHBOARD_PANEL, dashboard],
      [EPISODES_PANEL, episodes],
      [RUNS_PANEL, runsTable],
      [TRIAL_PANEL, trials],
      [MODEL_PANEL, model],
    ]),
  );
  addToTerminals(context, log);
  // A run that another window or the command line started may still be in progress.
  engine.attach();
}

function readExtensionVersion(manifest: unknown): string {
  const version = isRecord(manifest) ? manifest['version'] : undefined;
  return typeof version === 'string' ? version : '';
}

export async function deactivate(): Promise<void> {
  await engine?.dispose();
}

/** Restores the panels of one kind. */
interface Owner {
  restore(panel: WebviewPanel, state: unknown): void;
}

/** Registers serializers that restore panels after a reload, with the state that their pages kept. */
function registerSerializers(
  store: StoreAccess,
  panels: readonly (readonly [Pick<Panel, 'view'>, Owner])[],
): { dispose(): void }[] {
  return panels.map(([{ view }, owner]) =>
    window.registerWebviewPanelSerializer(view, {
      deserializeWebviewPanel: async (panel, state) => {
        await store.pending();
        owner.restore(panel, state);
      },
    }),
  );
}
