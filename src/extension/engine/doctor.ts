/** The command "Check this machine", which shows the engine's report. */

import { ProgressLocation, window } from 'vscode';
import type { Reports } from '../common/reports.ts';
import { formatDoctorReport } from './doctorReport.ts';
import type { Engine } from './engine.ts';

export class Doctor {
  private readonly engine: Engine;
  private readonly reports: Reports;

  constructor(engine: Engine, reports: Reports) {
    this.engine = engine;
    this.reports = reports;
  }

  async run(): Promise<void> {
    const report = await window.withProgress(
      { location: ProgressLocation.Window, title: 'C3: checking this machine' },
      () => this.engine.client().doctor(),
    );
    await this.reports.show('C3 doctor', formatDoctorReport(report));
  }
}
