/** `c3 export` and `c3 import`. */
import { resolve } from 'node:path';
import { C3Error } from '../../shared/errors.ts';
import { readArguments, text, texts, whole } from './arguments.ts';
import { exportBuckets } from '../exchange/exchangeExport.ts';
import { importBuckets, isBucketFile, type ImportReport } from '../exchange/exchangeImport.ts';
import { LogFile } from '../exchange/logFile.ts';
import { importLines } from '../../domain/episode.ts';
import { renamesOf } from '../../shared/speakerNames.ts';
import { WEIGHT_FORMATS } from '../exchange/exportWeights.ts';
import { parseRecipe, protocolOf } from '../recipe/recipe.ts';
import type { CommandContext } from './command.ts';
import { JSON_FLAG, STORE, withService } from './support.ts';

const EXPORT_FORMATS = ['buckets', ...WEIGHT_FORMATS] as const;

export async function exportRun(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const parsed = readArguments(
    'export',
    args,
    {
      ...STORE,
      ...JSON_FLAG,
      run: { type: 'string' },
      format: { type: 'string' },
      out: { type: 'string' },
      step: { type: 'string' },
    },
    0,
  );
  const [run, format, out] = [
    text(parsed, 'run'),
    EXPORT_FORMATS.find((known) => known === text(parsed, 'format')),
    text(parsed, 'out'),
  ];
  if (run === null || out === null) {
    throw new C3Error('input', 'c3 export needs --run RUN and --out with a path that does not exist yet.');
  }
  if (format === undefined) {
    throw new C3Error('input', `c3 export needs --format with one of ${EXPORT_FORMATS.join(', ')}.`);
  }
  const step = text(parsed, 'step') === null ? null : whole(parsed, 'step', 0, 0);
  const [path, json] = [resolve(context.folder, out), parsed.values['json'] === true];
  await withService(parsed, context, async (service) => {
    if (format !== 'buckets') {
      const folders = await service.exportWeights(run, step, format, path, context.signal);
      print(json ? JSON.stringify({ folders }) : folders.join('\n'));
      return;
    }
    if (step !== null) {
      throw new C3Error('input', 'c3 export --format buckets writes all steps; leave out --step.');
    }
    const protocol = service.reading((store) => protocolOf(parseRecipe(store.runConfig(run), run)));
    const report = service.reading((store) => exportBuckets(store, run, protocol, path));
    print(
      json
        ? JSON.stringify(report)
        : `${String(report.buckets)} buckets in ${report.out}${report.leftOut === 0 ? '' : `; ${String(report.leftOut)} without any return were left out`}${report.others === 0 ? '' : `; ${String(report.others)} of another continuation distribution were left out`}`,
    );
  });
}

export async function importFile(args: readonly string[], context: CommandContext): Promise<void> {
  const { print } = context;
  const flags = {
    ...STORE,
    ...JSON_FLAG,
    'mask-secrets': { type: 'boolean' },
    rename: { type: 'string', multiple: true },
  } as const;
  const parsed = readArguments('import', args, flags, 1);
  const file = parsed.positionals[0];
  if (file === undefined) {
    throw new C3Error('input', 'c3 import needs the path of a log or of a bucket file.');
  }
  const path = resolve(context.folder, file);
  const isBuckets = beginsAsBuckets(path);
  const renames = renamesOf(texts(parsed, 'rename'));
  if (isBuckets && renames.length > 0) {
    throw new C3Error('input', `${file} has buckets, whose roles keep their names; leave out --rename.`);
  }
  const now = new Date().toISOString();
  const json = parsed.values['json'] === true;
  await withService(parsed, context, async (service) => {
    if (isBuckets) {
      const report = await service.writing('import', context.signal, (store) => importBuckets(store, path, now));
      print(json ? JSON.stringify(report) : bucketWords(report));
      return;
    }
    const maskSecrets = parsed.values['mask-secrets'] === true;
    const report = await service.importLog({ path, maskSecrets, renames }, context.signal);
    print(json ? JSON.stringify(report) : importLines(report).join('\n'));
  });
}

/** Bytes in which the first line of a bucket file says that it is one. */
const BEGINNING = 2 ** 24;

function beginsAsBuckets(path: string): boolean {
  const file = new LogFile(path);
  try {
    return isBucketFile(file.read(0, Math.min(file.size, BEGINNING)).toString('utf8'));
  } finally {
    file.close();
  }
}

const bucketWords = ({ run, buckets, alternatives }: ImportReport): string =>
  `Run ${run}: ${String(buckets)} buckets with ${String(alternatives)} alternatives. Look at it with c3 diagnose --run ${run}`;
