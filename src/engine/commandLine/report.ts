/** `c3 report`: writes a run or one finding as a page or as JSON. */

import { resolve } from 'node:path';
import { writeOut } from '../../files/outFile.ts';
import { findingReport, reportJson, reportPage, runReport } from '../../report/report.ts';
import { C3Error } from '../../shared/errors.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { REPORT } from './declared/results.ts';
import { withService } from './support.ts';

export async function report(given: Given<typeof REPORT>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { run, message, out, json } = given;
  if ((run === null) === (message === null)) {
    throw new C3Error('input', 'c3 report needs either --run RUN or --message ID.');
  }
  if (out === null && !json) {
    throw new C3Error(
      'input',
      'c3 report needs --out with a file that does not exist yet (.html, or .json for data), or --json.',
    );
  }
  await withService(given, context, (service) => {
    const found = service.reading((store) =>
      message === null ? runReport(store, run ?? '') : findingReport(store, message),
    );
    if (out !== null) {
      const path = resolve(context.folder, out);
      writeOut(path, [path.toLowerCase().endsWith('.json') ? reportJson(found) : reportPage(found)]);
      if (!json) {
        print(path);
      }
    }
    if (json) {
      print(JSON.stringify(found));
    }
    return Promise.resolve();
  });
}
