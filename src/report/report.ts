/** The two forms of a report, a page and a JSON document, which show the same data. */
import { findingPage } from './findingPage.ts';
import { runPage } from './runPage.ts';
import type { FindingReport, RunReport } from './types.ts';

export { shownInEditor } from './page.ts';
export { findingReport } from './finding.ts';
export { runReport } from './run.ts';
export type { FindingReport, RunReport } from './types.ts';

export const reportPage = (report: FindingReport | RunReport): string =>
  report.report === 'run' ? runPage(report) : findingPage(report);

/** Writes one JSON document. Characters that UTF-8 cannot encode are escaped. */
export const reportJson = (report: FindingReport | RunReport): string => `${JSON.stringify(report, null, 2)}\n`;
