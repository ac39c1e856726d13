/** The commands, by their ids in package.json. */
import { commands, Uri, window } from 'vscode';
import { C3Error } from '../shared/errors.ts';
import { isRecord } from '../shared/guard.ts';
import type { StoreReader } from '../store/reader.ts';
import { askForModelFolder } from './chooseModel.ts';
import type { AlternativeNode, BucketNode, MoreBucketsNode } from './bucketsModel.ts';
import type { BucketsTree } from './bucketsTree.ts';
import type { Dashboard } from './dashboardPanel.ts';
import { Disposables } from './disposables.ts';
import type { Doctor } from './doctor.ts';
import { findMessage } from './findMessage.ts';
import type { ModelFolders } from './modelFolders.ts';
import type { ModelPanel } from './modelPanel.ts';
import { pickEpisode, pickMessage, pickResumable, pickRun } from './pick.ts';
import { report } from './report.ts';
import type { EpisodeNode, MoreNode, RoundNode, RunNode } from './runsModel.ts';
import type { RunsTree } from './runsTree.ts';
import type { Services } from './services.ts';
import { askForRun } from './startRun.ts';
import type { TaxonomyPanels } from './taxonomyPanels.ts';
import { targetOf } from './transcriptOutline.ts';
import type { TranscriptPanels } from './transcriptPanels.ts';

export interface Views {
  readonly tree: RunsTree;
  readonly buckets: BucketsTree;
  readonly transcripts: TranscriptPanels;
  readonly taxonomies: TaxonomyPanels;
  readonly dashboard: Dashboard;
  readonly doctor: Doctor;
  readonly model: ModelPanel;
  readonly modelFolders: ModelFolders;
}

/** Registers every command; a failure ends in one line with the way to the log. */
export function registerCommands(services: Services, views: Views): Disposables {
  const disposables = new Disposables();
  const handlers: Readonly<Record<string, (argument: unknown) => unknown>> = {
    'c3.startRun': (argument) => startRun(services, argument),
    'c3.resumeRun': (argument) => resumeRun(services, argument),
    'c3.cancelRun': () => { services.runs.cancel(); },
    'c3.inspectTaxonomy': (argument) => inspectTaxonomy(services, views, argument),
    'c3.openTranscript': (argument) => openTranscript(services, views, argument, false),
    'c3.openTranscriptBeside': (argument) => openTranscript(services, views, argument, true),
    'c3.openDashboard': (argument) => { views.dashboard.open(runOf(argument) ?? services.runs.current?.run ?? null); },
    'c3.replayAlternatives': (argument) => replayAlternatives(services, views, argument),
    'c3.verifyReplay': (argument) => verifyReplay(services, views, argument),
    'c3.findMessage': async () => {
      const message = await findMessage(readerOf(services));
      if (message !== undefined) openMessage(services, views.transcripts, message);
    },
    'c3.chooseModel': () => chooseModel(services, views),
    'c3.doctor': () => views.doctor.run(),
    'c3.refresh': () => { services.store.touch(); },
    'c3.showLog': () => { services.log.show(); },
    'c3.loadMore': (argument) => {
      if (isNode<MoreNode>(argument, 'more')) views.tree.loadMore(argument);
      else if (isNode<MoreBucketsNode>(argument, 'moreBuckets')) views.buckets.loadMore(argument);
    },
    'c3.filterRuns': () => views.tree.askForFilter(),
    'c3.clearRunsFilter': () => { views.tree.clearFilter(); },
    'c3.sortBuckets': () => views.buckets.sort(),
    'c3.showBuckets': (argument) => showBuckets(services, views, argument),
  };
  for (const [id, handler] of Object.entries(handlers)) {
    disposables.add(commands.registerCommand(id, async (argument: unknown) => {
      try {
        await handler(argument);
      } catch (error) {
        await report(error, services.log);
      }
    }));
  }
  return disposables;
}

/** Shows a message in its transcript. */
export function openMessage(services: Services, transcripts: TranscriptPanels, message: number): void {
  try {
    transcripts.open(targetOf(readerOf(services), message), message);
  } catch (error) {
    void report(error, services.log);
  }
}

async function startRun(services: Services, argument: unknown): Promise<void> {
  // A reason not to start is said before any question is asked.
  services.engine.client();
  const params = await askForRun(argument instanceof Uri ? argument : undefined);
  if (params !== undefined) await services.runs.start(params);
}

async function resumeRun(services: Services, argument: unknown): Promise<void> {
  services.engine.client();
  const reader = readerOf(services);
  const run = runOf(argument) ?? await pickResumable(reader, 'Resume run');
  if (run === undefined) return;
  // The tree may be older than the store.
  const { status, title } = reader.run(run);
  if (status === 'done') void window.showInformationMessage(`The run "${title}" is finished; there is nothing to resume.`);
  else await services.runs.resume(run);
}

async function chooseModel(services: Services, { model, modelFolders }: Views): Promise<void> {
  // A folder names files to load, so a workspace that is not trusted is told before anything is asked.
  services.engine.client();
  const folder = await askForModelFolder(modelFolders);
  if (folder !== undefined) model.open(folder);
}

async function inspectTaxonomy(services: Services, views: Views, argument: unknown): Promise<void> {
  const run = runOf(argument) ?? await pickRun(readerOf(services), 'Inspect failure taxonomy');
  if (run !== undefined) views.taxonomies.open(run);
}

async function openTranscript(services: Services, views: Views, argument: unknown, beside: boolean): Promise<void> {
  if (isNode<BucketNode>(argument, 'bucket') || isNode<AlternativeNode>(argument, 'alternative')) {
    const { message } = argument;
    if (message !== undefined) views.transcripts.open(targetOf(readerOf(services), message), message, beside);
    return;
  }
  const above = isNode<RunNode>(argument, 'run') || isNode<RoundNode>(argument, 'round') ? argument : null;
  const node = isNode<EpisodeNode>(argument, 'episode') ? argument : await pickEpisode(readerOf(services), 'Open transcript', above);
  if (node === undefined) return;
  const { run, phase, iteration, instance, leaf } = node.episode;
  views.transcripts.open({ run, phase, iteration, instance }, leaf, beside);
}

async function showBuckets(services: Services, views: Views, argument: unknown): Promise<void> {
  const run = runOf(argument) ?? await pickRun(readerOf(services), 'Show buckets');
  if (run === undefined) return;
  views.buckets.show(run);
  await commands.executeCommand('c3.buckets.focus');
}

async function replayAlternatives(services: Services, views: Views, argument: unknown): Promise<void> {
  const reader = readerOf(services);
  const message = messageOfMenu(argument) ?? views.transcripts.active?.selection ?? await askForMessage(reader, 'Replay alternatives');
  if (message === undefined) return;
  views.transcripts.open(targetOf(reader, message), message).replayMessage(message);
}

async function verifyReplay(services: Services, views: Views, argument: unknown): Promise<void> {
  const reader = readerOf(services);
  const message = messageOfMenu(argument) ?? views.transcripts.active?.selection ?? await askForMessage(reader, 'Verify replay');
  if (message !== undefined) await services.verifier.verify(message);
}

async function askForMessage(reader: StoreReader, title: string): Promise<number | undefined> {
  const episode = await pickEpisode(reader, title);
  return episode === undefined ? undefined : pickMessage(reader, episode, title);
}

function readerOf(services: Services): StoreReader {
  const reader = services.store.reader();
  if (reader === null) throw new C3Error('store', 'There is no run in this workspace yet: start one with "C3: Start C3 run".');
  return reader;
}

/** A run given by its id, by its item in the tree or by one of a step. */
function runOf(argument: unknown): string | undefined {
  if (typeof argument === 'string') return argument;
  if (isNode<RoundNode>(argument, 'round')) return argument.run;
  return isNode<RunNode>(argument, 'run') ? argument.run.id : undefined;
}

/** The message on which a context menu was opened, in the transcript panel or in the side bar. */
function messageOfMenu(argument: unknown): number | undefined {
  if (isNode<EpisodeNode>(argument, 'episode')) return argument.episode.leaf;
  const message = isRecord(argument) ? argument['message'] : undefined;
  return typeof message === 'number' && Number.isSafeInteger(message) ? message : undefined;
}

function isNode<T extends { readonly kind: string }>(value: unknown, kind: T['kind']): value is T {
  return isRecord(value) && value['kind'] === kind;
}
