/** The two forms of a report, a page and a JSON document, which show the same data. */

import { writeFindingPage } from './findingPage.ts';
import { writeRunPage } from './runPage.ts';
import type { FindingReport, RunReport } from './types.ts';

export { writeEditorPage as shownInEditor } from './page.ts';
export { buildFindingReport as findingReport } from './finding.ts';
export { buildRunReport as runReport } from './run.ts';
export type { FindingReport, RunReport } from './types.ts';

export const reportPage = (report: FindingReport | RunReport): string =>
  report.report === 'run' ? writeRunPage(report) : writeFindingPage(report);

/** Writes one JSON document. Characters that UTF-8 cannot encode are escaped. */
export const reportJson = (report: FindingReport | RunReport): string => `${JSON.stringify(report, null, 2)}\n`;
