/** `c3 export` and `c3 import`. */

import { basename, resolve } from 'node:path';
import { describeImport } from '../../domain/episode.ts';
import { C3Error } from '../../shared/errors.ts';
import { parseSpeakerRenames } from '../../shared/speakerNames.ts';
import { exportBuckets } from '../exchange/exchangeExport.ts';
import { importBuckets, isBucketFile, type ImportReport } from '../exchange/exchangeImport.ts';
import { LogFile } from '../exchange/logFile.ts';
import { parseRecipe, parseRecipeProtocol } from '../recipe/recipe.ts';
import { VERSION } from '../version.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { EXPORT, IMPORT } from './declared/programs.ts';
import { createProgressPrinter, withService } from './support.ts';

export async function exportRun(given: Given<typeof EXPORT>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { run, format, step, json } = given;
  const path = resolve(context.folder, given.out);
  await withService(given, context, async (service) => {
    if (format === 'tuples') {
      const show = createProgressPrinter(context);
      const begun = performance.now();
      const report = await service.exportTuples(run, {
        out: path,
        step,
        about: { c3: VERSION, command: formatExport(given) },
        onStep: (done, total, tuples) => {
          if (performance.now() - begun > QUIET) {
            show({ done, total, message: `${done} of ${total} steps, ${tuples} tuples` });
          }
        },
        signal: context.signal,
      });
      print(json ? JSON.stringify(report) : `${report.tuples} tuples of ${report.steps} steps in ${report.out}`);
      return;
    }
    if (format !== 'buckets') {
      const folders = await service.exportWeights(run, step, format, path, context.signal);
      print(json ? JSON.stringify({ folders }) : folders.join('\n'));
      return;
    }
    if (step !== null) {
      throw new C3Error('input', 'c3 export --format buckets writes all steps; leave out --step.');
    }
    const protocol = service.reading((store) => parseRecipeProtocol(parseRecipe(store.runConfig(run), run)));
    const report = service.reading((store) => exportBuckets(store, run, protocol, path));
    print(
      json
        ? JSON.stringify(report)
        : `${report.buckets} buckets in ${report.out}${report.leftOut === 0 ? '' : `; ${report.leftOut} without any return were left out`}${report.others === 0 ? '' : `; ${report.others} of another continuation distribution were left out`}`,
    );
  });
}

/** Milliseconds after which an export shows its progress. */
const QUIET = 2000;

/** Returns the command as typed, with only the name of the file: its folder is specific to this machine. */
const formatExport = ({ run, format, out, step }: Given<typeof EXPORT>): string =>
  [
    'c3 export',
    '--run',
    run,
    '--format',
    format,
    ...(step === null ? [] : ['--step', step]),
    '--out',
    basename(out),
  ].join(' ');

export async function importFile(given: Given<typeof IMPORT>, context: CommandContext): Promise<void> {
  const { print } = context;
  const { file, maskSecrets, json } = given;
  const path = resolve(context.folder, file);
  const isBuckets = isBucketFilePath(path);
  const renames = parseSpeakerRenames(given.rename);
  if (isBuckets && renames.length > 0) {
    throw new C3Error('input', `${file} has buckets, whose roles keep their names; leave out --rename.`);
  }
  const now = new Date().toISOString();
  await withService(given, context, async (service) => {
    if (isBuckets) {
      const report = await service.writing('import', context.signal, (store) => importBuckets(store, path, now));
      print(json ? JSON.stringify(report) : formatBucketImport(report));
      return;
    }
    const report = await service.importLog({ path, maskSecrets, renames }, context.signal);
    print(json ? JSON.stringify(report) : describeImport(report).join('\n'));
  });
}

/** Bytes at the start of a file in which the first line shows that it is a bucket file. */
const BEGINNING = 2 ** 24;

function isBucketFilePath(path: string): boolean {
  const file = new LogFile(path);
  try {
    return isBucketFile(file.read(0, Math.min(file.size, BEGINNING)).toString('utf8'));
  } finally {
    file.close();
  }
}

const formatBucketImport = ({ run, buckets, alternatives }: ImportReport): string =>
  `Run ${run}: ${buckets} buckets with ${alternatives} alternatives. Look at it with c3 diagnose --run ${run}`;
