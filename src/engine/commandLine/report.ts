/** `c3 report`: a run or one finding as a page or as JSON. */
import { resolve } from 'node:path';
import { writeOut } from '../../files/outFile.ts';
import { findingReport, reportJson, reportPage, runReport } from '../../report/report.ts';
import { C3Error } from '../../shared/errors.ts';
import { readArguments, text, whole } from './arguments.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, STORE, withService } from './support.ts';

export async function report(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments(
    'report',
    args,
    { ...STORE, ...JSON_FLAG, run: { type: 'string' }, message: { type: 'string' }, out: { type: 'string' } },
    0,
  );
  const [run, message, out, json] = [
    text(parsed, 'run'),
    text(parsed, 'message') === null ? null : whole(parsed, 'message', 1, 1),
    text(parsed, 'out'),
    parsed.values['json'] === true,
  ];
  if ((run === null) === (message === null)) {
    throw new C3Error('input', 'c3 report needs either --run RUN or --message ID.');
  }
  if (out === null && !json) {
    throw new C3Error(
      'input',
      'c3 report needs --out with a file that does not exist yet (.html, or .json for data), or --json.',
    );
  }
  await withService(parsed, context, (service) => {
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
