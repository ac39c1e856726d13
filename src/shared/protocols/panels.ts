/**
 * The panels of the editor. The table is their only list: bundles are the folders that it names, and a test holds
 * package.json to it.
 */
import { DASHBOARD_PANEL } from './dashboardProtocol.ts';
import { EPISODES_PANEL } from './episodesProtocol.ts';
import { MODEL_PANEL } from './modelProtocol.ts';
import type { Panel } from './panel.ts';
import { RUNS_PANEL } from './runsTable.ts';
import { TAXONOMY_PANEL } from './taxonomyProtocol.ts';
import { TRANSCRIPT_PANEL } from './transcriptProtocol.ts';

export const PANELS = {
  transcript: TRANSCRIPT_PANEL,
  taxonomy: TAXONOMY_PANEL,
  dashboard: DASHBOARD_PANEL,
  episodes: EPISODES_PANEL,
  runs: RUNS_PANEL,
  model: MODEL_PANEL,
} as const satisfies Readonly<Record<string, Panel>>;

export type PanelName = keyof typeof PANELS;

const isPanelName = (name: string): name is PanelName => Object.hasOwn(PANELS, name);
export const PANEL_NAMES: readonly PanelName[] = Object.keys(PANELS).filter(isPanelName);
