/** The status bar item, which shows the stage of the run in progress and opens the dashboard. */

import { StatusBarAlignment, window } from 'vscode';
import { formatRemaining } from '../../shared/text/times.ts';
import { Disposables } from '../common/disposables.ts';
import { formatStage } from './progressWords.ts';
import type { RunController } from './runController.ts';

/** Shows the item while a run is in progress. */
export function createStatusBar(runs: RunController): Disposables {
  const disposables = new Disposables();
  const item = disposables.add(window.createStatusBarItem('c3.run', StatusBarAlignment.Left, 10));
  item.name = 'C3 run';
  item.command = 'c3.openDashboard';
  item.tooltip = 'Open the C3 run dashboard';
  const draw = (): void => {
    if (!runs.running) {
      item.hide();
      return;
    }
    const stage = runs.current === null ? 'starting' : formatStage(runs.current).toLowerCase();
    const earned = runs.currentReturn === null ? '' : `, return ${runs.currentReturn.toFixed(2)}`;
    const remaining = formatRemaining(runs.current?.remainingSeconds ?? null);
    const [queued, waitingFor] = [runs.queued.length, runs.job?.waitingFor ?? null];
    const words =
      waitingFor === null ? `${stage}${earned}${remaining === '' ? '' : `, ${remaining}`}` : `w${waitingFor.slice(1)}`;
    item.text = `$(loading~spin) C3: ${words}${queued === 0 ? '' : `, ${queued} queued`}`;
    item.tooltip = [
      `"${runs.job?.title ?? ''}" is running${waitingFor === null ? '' : `: ${waitingFor}`}`,
      ...runs.queued.map(({ title }) => `queued: "${title}"`),
      'Click to open the run dashboard',
    ].join('\n');
    item.show();
  };
  disposables.add(runs.onDidChange(draw));
  draw();
  return disposables;
}
