/** Command handlers, keyed by the command ids of package.json. */

import { commands, Uri, window, workspace } from 'vscode';
import type { RunNote } from '../domain/run.ts';
import type { StoreReader } from '../store/read/reader.ts';
import { isTreeNode, readRoleArgument, readRunArgument } from './commandArguments.ts';
import { Disposables } from './common/disposables.ts';
import { withoutIcons, withoutLinks } from './common/plainText.ts';
import { showError } from './common/report.ts';
import { loadService } from './configuration/load.ts';
import { newConfiguration, openRecordedConfiguration } from './configuration/newConfiguration.ts';
import { openGuide } from './documents/guide.ts';
import { goToFinding } from './findings/keepFinding.ts';
import {
  compareWithMarked,
  findLostMessage,
  keepFinding,
  markToCompare,
  noteEpisode,
  replayAlternatives,
  showContext,
  verifyReplay,
} from './messageCommands.ts';
import { askForModelFolder } from './model/chooseModel.ts';
import { askAndDelete, askForNote } from './run/ownRuns.ts';
import { planRun } from './run/planRun.ts';
import { askAndReplacePolicy } from './run/replacePolicy.ts';
import { askForConfiguration, askForRun, BUNDLED } from './run/startRun.ts';
import { selectFirstFault } from './run/subjects.ts';
import type { Services } from './services.ts';
import { copyLink } from './sharing/deepLinks.ts';
import { exportReport } from './sharing/exportReport.ts';
import { importLog, type ImportedViews } from './sharing/importLog.ts';
import { recordAgents } from './sharing/recordAgents.ts';
import { findSubject } from './sharing/subject.ts';
import type { AlternativeNode, BucketNode, MoreBucketsNode } from './sidebar/bucketsModel.ts';
import { pickResumable, pickRun } from './sidebar/pick.ts';
import type { EpisodeNode, MoreNode, QueuedNode, RunNode } from './sidebar/runsModel.ts';
import { findMessage } from './transcript/findMessage.ts';
import { loadProtocolReader } from './transcript/message/protocolReader.ts';
import { findTranscriptTarget } from './transcript/reading/transcriptOutline.ts';
import type { TranscriptPanels } from './transcript/transcriptPanels.ts';
import { openEpisodesPanel, requireReader, findRunInFront, findRunToChart, type Views } from './views.ts';

/** Commands that do not read the store. The others wait until the store has been examined. */
const WITHOUT_STORE: ReadonlySet<string> = new Set([
  'c3.newConfiguration',
  'c3.cancelRun',
  'c3.chooseModel',
  'c3.doctor',
  'c3.openGuide',
  'c3.planRun',
  'c3.refresh',
  'c3.setEndpointKey',
  'c3.showLog',
  'c3.updateStore',
]);

/** Registers every command. A failed command shows one line and a button that opens the log. */
export function registerCommands(services: Services, views: Views): Disposables {
  const disposables = new Disposables();
  const imported: ImportedViews = {
    transcript: ({ target, message }) => views.transcripts.open(target, message),
    episodes: (run) => openEpisodesPanel(views, run, null),
  };
  const handlers: Readonly<Record<string, (argument: unknown) => unknown>> = {
    'c3.startRun': (argument) => startRun(services, argument),
    'c3.planRun': (argument) => planConfiguration(services, views, argument),
    'c3.newConfiguration': newConfiguration,
    'c3.resumeRun': (argument) => resumeRun(services, argument),
    'c3.replacePolicy': (argument) => replacePolicy(services, argument),
    'c3.openRunConfiguration': async (argument) => {
      const reader = requireReader(services);
      const run =
        readRunArgument(argument) ?? findRunInFront(views) ?? (await pickRun(reader, 'Open run configuration'));
      if (run !== undefined) {
        await openRecordedConfiguration(reader.runConfig(run));
      }
    },
    'c3.renameRun': (argument) => noteRun(services, argument, 'title', 'Rename run'),
    'c3.noteRun': (argument) => noteRun(services, argument, 'note', 'Edit note'),
    'c3.tagRun': (argument) => noteRun(services, argument, 'tags', 'Edit tags'),
    'c3.scoreEpisode': (argument) => noteEpisode(services, views, argument, 'score'),
    'c3.noteEpisode': (argument) => noteEpisode(services, views, argument, 'note'),
    'c3.tagEpisode': (argument) => noteEpisode(services, views, argument, 'tags'),
    'c3.deleteRun': (argument) => deleteRun(services, views, argument),
    'c3.cancelRun': (argument) => cancelRun(services, argument),
    'c3.inspectTaxonomy': (argument) => inspectTaxonomy(services, views, argument),
    'c3.openTranscript': (argument) => openTranscript(services, views, argument, false),
    'c3.openTranscriptBeside': (argument) => openTranscript(services, views, argument, true),
    'c3.goToCostliestMessage': () => goToCostliestMessage(services, views),
    'c3.openEpisodes': (argument) => openEpisodes(views, argument),
    'c3.openRunsTable': (argument) => views.runsTable.open(readRunArgument(argument) ?? null),
    'c3.openDashboard': (argument) =>
      views.dashboard.open(readRunArgument(argument) ?? findRunToChart(views) ?? services.runs.current?.run ?? null),
    'c3.findLosses': async (argument) => {
      const run =
        readRunArgument(argument) ?? findRunInFront(views) ?? requireReader(services).runs(0, 1)[0]?.id ?? null;
      views.dashboard.open(run);
      if (run !== null) {
        await views.dashboard.findLosses(run);
      }
    },
    'c3.tryChange': (argument) =>
      views.trials.ask(readRunArgument(argument), readRoleArgument(argument), (title) =>
        pickRun(requireReader(services), title),
      ),
    'c3.tryPrompt': (argument) => views.trials.tryPrompt(argument),
    'c3.comparePrompt': (argument) => views.trials.comparePrompt(argument),
    'c3.replayAlternatives': (argument) => replayAlternatives(services, views, argument),
    'c3.findLostMessage': (argument) => findLostMessage(services, views, argument),
    'c3.keepFinding': (argument) => keepFinding(services, views, argument),
    'c3.goToFinding': (argument) =>
      goToFinding(argument, requireReader(services), (message) => openMessage(services, views.transcripts, message)),
    'c3.verifyReplay': (argument) => verifyReplay(services, views, argument),
    'c3.markToCompare': (argument) => markToCompare(services, views, argument),
    'c3.compareWithMarked': (argument) => compareWithMarked(services, views, argument),
    'c3.showContext': (argument) => showContext(services, views, argument),
    'c3.findMessage': async () => {
      const message = await findMessage(requireReader(services));
      if (message !== undefined) {
        openMessage(services, views.transcripts, message);
      }
    },
    'c3.exportReport': async (argument) => {
      const subject = await findSubject(
        requireReader(services),
        argument,
        views.transcripts.active?.selection ?? null,
        'Export report',
      );
      if (subject !== undefined) {
        await exportReport(requireReader(services), subject);
      }
    },
    'c3.copyLink': async (argument) => {
      const subject = await findSubject(
        requireReader(services),
        argument,
        views.transcripts.active?.selection ?? null,
        'Copy link',
      );
      if (subject !== undefined) {
        await copyLink(views.extension, subject);
      }
    },
    'c3.importLog': () => importLog(services, imported),
    'c3.recordAgents': () => recordAgents(services, imported),
    'c3.setEndpointKey': () => views.keys.set(),
    'c3.chooseModel': () => chooseModel(services, views),
    'c3.doctor': () => views.doctor.run(),
    'c3.openGuide': (argument) => openGuide(services.extensionUri, argument),
    'c3.refresh': () => services.store.touch(),
    'c3.updateStore': async () => {
      await services.engine.client().updateStore();
      services.store.touch();
    },
    'c3.showLog': () => services.log.show(),
    'c3.loadMore': (argument) => {
      if (isTreeNode<MoreNode>(argument, 'more')) {
        views.tree.loadMore(argument);
      } else if (isTreeNode<MoreBucketsNode>(argument, 'moreBuckets')) {
        views.buckets.loadMore(argument);
      }
    },
    'c3.filterRuns': () => views.tree.askForFilter(),
    'c3.clearRunsFilter': () => views.tree.clearFilter(),
    'c3.sortBuckets': () => views.buckets.sort(),
    'c3.filterBuckets': () => views.buckets.askForFilter(),
    'c3.clearBucketsFilter': () => views.buckets.clearFilter(),
    'c3.showBuckets': (argument) => showBuckets(services, views, argument),
  };
  for (const [id, handler] of Object.entries(handlers)) {
    disposables.add(
      commands.registerCommand(id, async (argument: unknown) => {
        try {
          if (!WITHOUT_STORE.has(id)) {
            await services.store.pending();
          }
          await handler(argument);
        } catch (error) {
          await showError(error, services.log);
        }
      }),
    );
  }
  return disposables;
}

/** Shows a message in its transcript. */
export function openMessage(services: Services, transcripts: TranscriptPanels, message: number): void {
  try {
    transcripts.open(findTranscriptTarget(requireReader(services), message), message);
  } catch (error) {
    void showError(error, services.log);
  }
}

async function startRun(services: Services, argument: unknown): Promise<void> {
  // Throws before any question is asked if a run cannot start.
  services.engine.client();
  services.store.requireWhole();
  const subject = argument === BUNDLED ? BUNDLED : await saveGivenConfiguration(argument);
  if (subject === null) {
    return;
  }
  const params = await askForRun(subject, {
    extension: services.extensionUri,
    planOf: (wanted) => services.engine.client().plan(wanted),
    faultIn: async (text) => selectFirstFault((await loadService()).checkConfig(text)),
  });
  if (params !== undefined) {
    await services.runs.start(params);
  }
}

async function planConfiguration(services: Services, { reports }: Views, argument: unknown): Promise<void> {
  services.engine.client();
  const file = argument instanceof Uri ? argument : await askForConfiguration('Plan memory and budget');
  if (file !== undefined) {
    await planRun(services.engine, reports, file, readUnsavedText(file));
  }
}

/** Returns the text of a file in the editor if it has unsaved changes, or undefined. */
function readUnsavedText(file: Uri): string | undefined {
  const open = workspace.textDocuments.find(({ uri }) => uri.toString() === file.toString());
  return open?.isDirty === true || open?.isUntitled === true ? open.getText() : undefined;
}

/**
 * Saves the configuration that a command was given if it has unsaved changes.
 * @returns the saved file, undefined if none was given, or null if the user canceled the save
 */
async function saveGivenConfiguration(argument: unknown): Promise<Uri | undefined | null> {
  if (!(argument instanceof Uri)) {
    return undefined;
  }
  const open = workspace.textDocuments.find(({ uri }) => uri.toString() === argument.toString());
  return open?.isDirty === true || open?.isUntitled === true ? ((await workspace.save(argument)) ?? null) : argument;
}

async function resumeRun(services: Services, argument: unknown): Promise<void> {
  services.engine.client();
  const reader = requireReader(services);
  const run = readRunArgument(argument) ?? (await pickResumable(reader, 'Resume run'));
  if (run === undefined) {
    return;
  }
  // The status is read anew: the tree may be older than the store.
  const { status, title } = reader.run(run);
  if (status === 'done') {
    void window.showInformationMessage(withoutLinks(`The run "${title}" is finished; there is nothing to resume.`));
  } else {
    await services.runs.resume(run);
  }
}

async function noteRun(services: Services, argument: unknown, part: keyof RunNote, title: string): Promise<void> {
  services.engine.client();
  const reader = requireReader(services);
  const run = readRunArgument(argument) ?? (await pickRun(reader, title));
  if (run !== undefined) {
    await askForNote(services, reader.run(run), part);
  }
}

async function deleteRun(services: Services, views: Views, argument: unknown): Promise<void> {
  services.engine.client();
  const reader = requireReader(services);
  const run = readRunArgument(argument) ?? (await pickRun(reader, 'Delete run'));
  if (run !== undefined && (await askAndDelete(services, reader.run(run)))) {
    views.dashboard.forget(run);
    for (const panels of [views.transcripts, views.taxonomies, views.episodes, views.trials]) {
      panels.closeRun(run);
    }
  }
}

async function replacePolicy(services: Services, argument: unknown): Promise<void> {
  const reader = requireReader(services);
  await askAndReplacePolicy(
    services,
    reader,
    readRunArgument(argument),
    (title) => pickRun(reader, title),
    (run) => listTeamRoles(reader, run),
  );
}

/** Returns the roles of a run's team: from the ledger, or from the protocol if no step has ended. */
async function listTeamRoles(reader: StoreReader, run: string): Promise<readonly string[]> {
  const ledger = reader.latestLedger(run);
  if (ledger !== null) {
    return Object.keys(ledger.decisions);
  }
  const protocol = (await loadProtocolReader())(reader, run);
  return [...new Set(protocol?.nodes.map(({ role }) => role))];
}

/** Cancels the given run. If none is given and several are running or queued, asks which one. */
async function cancelRun(services: Services, argument: unknown): Promise<void> {
  const { runs } = services;
  const named = isTreeNode<QueuedNode>(argument, 'queued') ? argument.job.id : readRunArgument(argument);
  const open = [...(runs.job === null ? [] : [runs.job]), ...runs.queued];
  if (named !== undefined || open.length < 2) {
    await runs.cancel(named ?? open[0]?.id);
    return;
  }
  const items = open.map(({ id, title, state }) => ({
    label: withoutIcons(title),
    description: state === 'running' ? 'running' : 'queued',
    id,
  }));
  const chosen = await window.showQuickPick(items, { title: 'Cancel run', placeHolder: 'Which run?' });
  if (chosen !== undefined) {
    await runs.cancel(chosen.id);
  }
}

async function chooseModel(services: Services, { model, modelFolders }: Views): Promise<void> {
  // A model folder names files to load. In an untrusted workspace this throws before any question.
  services.engine.client();
  const folder = await askForModelFolder(modelFolders);
  if (folder !== undefined) {
    model.open(folder);
  }
}

async function inspectTaxonomy(services: Services, views: Views, argument: unknown): Promise<void> {
  const run =
    readRunArgument(argument) ??
    findRunInFront(views) ??
    (await pickRun(requireReader(services), 'Inspect failure taxonomy'));
  if (run !== undefined) {
    views.taxonomies.open(run);
  }
}

function openTranscript(services: Services, views: Views, argument: unknown, beside: boolean): void {
  if (isTreeNode<BucketNode>(argument, 'bucket') || isTreeNode<AlternativeNode>(argument, 'alternative')) {
    const { message } = argument;
    if (message !== undefined) {
      views.transcripts.open(findTranscriptTarget(requireReader(services), message), message, beside);
    }
    return;
  }
  if (!isTreeNode<EpisodeNode>(argument, 'episode')) {
    openEpisodesPanel(
      views,
      readRunArgument(argument),
      'Choose a problem: Enter opens its transcript at the clearest message.',
    );
    return;
  }
  const { run, phase, iteration, problem, leaf } = argument.episode;
  views.transcripts.open({ run, phase, iteration, problem }, leaf, beside);
}

async function openEpisodes(views: Views, argument: unknown): Promise<void> {
  openEpisodesPanel(views, readRunArgument(argument), null);
  // A click on a run also expands its steps in the list.
  if (isTreeNode<RunNode>(argument, 'run')) {
    await views.tree.expand(argument);
  }
}

function goToCostliestMessage(services: Services, views: Views): void {
  const active = views.transcripts.reveal();
  if (active === undefined) {
    openTranscript(services, views, undefined, false);
    return;
  }
  active.goToCostliestMessage();
}

async function showBuckets(services: Services, views: Views, argument: unknown): Promise<void> {
  const run = readRunArgument(argument) ?? (await pickRun(requireReader(services), 'Show buckets'));
  if (run === undefined) {
    return;
  }
  views.buckets.show(run);
  await commands.executeCommand('c3.buckets.focus');
}
