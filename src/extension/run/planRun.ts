/** The command "Plan memory and budget", which shows the needs and the cost of a run before it starts. */

import { basename } from 'node:path';
import { ProgressLocation, ViewColumn, window, type Uri } from 'vscode';
import type { Reports } from '../common/reports.ts';
import type { Engine } from '../engine/engine.ts';
import { formatPlanReport } from './planReport.ts';

/**
 * @param text the text of the file in the editor, if it is not saved
 * @throws C3Error with one sentence if the configuration cannot be planned
 */
export async function planRun(engine: Engine, reports: Reports, file: Uri, text?: string): Promise<void> {
  const name = basename(file.fsPath);
  // Without the ending, since the editor would take the report for a configuration.
  const title = `C3 plan of ${name.replace(/\.c3\.yaml$/u, '')}`;
  const client = engine.client();
  const plan = await window.withProgress({ location: ProgressLocation.Window, title: `C3: planning ${name}` }, () =>
    client.plan({ config: file.fsPath, overrides: [], ...(text !== undefined && { text }) }),
  );
  await reports.show(title, formatPlanReport(name, plan), ViewColumn.Beside);
}
