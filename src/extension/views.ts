/** The panels and trees in which commands show their results. */

import type { ExtensionContext } from 'vscode';
import { C3Error } from '../shared/errors.ts';
import type { StoreReader } from '../store/read/reader.ts';
import type { Reports } from './common/reports.ts';
import type { Dashboard } from './dashboard/dashboardPanel.ts';
import type { RunsTable } from './dashboard/runsTablePanel.ts';
import type { Doctor } from './engine/doctor.ts';
import type { EndpointKeys } from './engine/endpointKeys.ts';
import type { Episodes } from './episodes/episodesPanel.ts';
import type { ModelFolders } from './model/modelFolders.ts';
import type { ModelPanel } from './model/modelPanel.ts';
import type { Services } from './services.ts';
import type { BucketsTree } from './sidebar/bucketsTree.ts';
import type { RunsTree } from './sidebar/runsTree.ts';
import type { TaxonomyPanels } from './taxonomy/taxonomyPanels.ts';
import type { TranscriptPanels } from './transcript/transcriptPanels.ts';
import type { Trials } from './trial/trials.ts';

export interface Views {
  readonly extension: ExtensionContext['extension'];
  readonly tree: RunsTree;
  readonly buckets: BucketsTree;
  readonly transcripts: TranscriptPanels;
  readonly taxonomies: TaxonomyPanels;
  readonly dashboard: Dashboard;
  readonly episodes: Episodes;
  readonly runsTable: RunsTable;
  readonly trials: Trials;
  readonly doctor: Doctor;
  readonly model: ModelPanel;
  readonly modelFolders: ModelFolders;
  readonly reports: Reports;
  readonly keys: EndpointKeys;
}

/**
 * Opens the episodes of a run. Without a run, opens the run already shown, the run selected in the
 * list, or the newest.
 */
export function openEpisodesPanel({ tree, episodes }: Views, run: string | undefined, note: string | null): void {
  episodes.open(run ?? (episodes.isOpen ? null : (tree.selectedRun ?? null)), note);
}

/** Returns the run of the active panel, or null if no panel of C3 is active. */
export function findRunInFront(views: Views): string | null {
  return views.dashboard.runInFront ?? findRunToChart(views);
}

/** Returns the run of the active panel if that is not the dashboard, which then shows the run in progress. */
export function findRunToChart({ episodes, transcripts, taxonomies }: Views): string | null {
  return episodes.runInFront ?? transcripts.runInFront ?? taxonomies.runInFront;
}

export function requireReader(services: Services): StoreReader {
  const reader = services.store.reader();
  if (reader === null) {
    throw new C3Error('store', 'There are no runs in this workspace yet: start one with "C3: Start C3 run".');
  }
  return reader;
}
