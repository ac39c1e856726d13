/** `c3 run`, `replay` and `verify`. */

import { resolve } from 'node:path';
import type { MessageEstimate } from '../../domain/credit.ts';
import type { Message } from '../../domain/message.ts';
import {
  DRAWS_WORDS,
  classifyDraws,
  type ContinuationChoice,
  type BucketView,
  type ReplayResult,
} from '../../domain/replay.ts';
import type { RunSummary } from '../../domain/run.ts';
import { describeReport } from '../../domain/verification.ts';
import { estimateMessage, withVote } from '../../report/estimates.ts';
import { toHeadlineJson } from '../../shared/credit/headline.ts';
import { findClearest } from '../../shared/credit/order.ts';
import { C3Error } from '../../shared/errors.ts';
import type { RunProgress } from '../../shared/protocols/jobs.ts';
import type { StoreReader } from '../../store/read/reader.ts';
import { readRecipe } from '../recipe/recipe.ts';
import { countDefaultReplays, describeSettling } from '../replay/settling.ts';
import { recountStoredVote, readVotedEpisode } from '../replay/storedVote.ts';
import { formatRunBlame } from './blame.ts';
import type { CommandContext } from './command.ts';
import type { Given } from './declared/declaration.ts';
import type { REPLAY, VERIFY } from './declared/messages.ts';
import type { RUN } from './declared/runs.ts';
import { detachRun } from './jobs.ts';
import { LARGE_MODEL, createProgressPrinter, readSpendingOptions, withService } from './support.ts';
import { formatBucket, formatEstimates, formatFinding, formatSummary } from './words.ts';

/** Evaluator calls that --show spends on a search for losses, and the number of cases that it shows. */
const SHOWN_BUDGET = 1200;
const SHOWN_CASES = 3;

export async function run(given: Given<typeof RUN>, context: CommandContext): Promise<void> {
  const { print, note } = context;
  const { config, override: overrides, resume: resumed, again } = given;
  const isConfigured = config !== null || overrides.length > 0;
  if (resumed !== null && isConfigured) {
    throw new C3Error(
      'input',
      `c3 run --resume ${JSON.stringify(resumed.slice(0, 80))} continues with the configuration that the run ` +
        `began with; omit ${overrides.length === 0 ? 'the configuration' : '--override'}.`,
    );
  }
  if (again !== null && (resumed !== null || isConfigured)) {
    throw new C3Error('input', 'c3 run --again JOB starts the job as it was requested; omit everything else.');
  }
  if (given.detach || again !== null) {
    if (given.show) {
      throw new C3Error('input', 'c3 run --detach shows nothing at the end; omit --show.');
    }
    await detachRun({ config, overrides, resumed, again }, given, context);
    return;
  }
  const recipe = resumed === null ? await readRecipe(config, overrides, context.folder) : null;
  await withService(given, context, async (service) => {
    if (resumed !== null) {
      await service.updated(context.signal);
    }
    const summary = await runResumably(context, (onProgress) => {
      const control = { signal: context.signal, onProgress };
      return recipe === null ? service.resume(resumed ?? '', control, note) : service.run(recipe, control, note);
    });
    if (given.json) {
      print(JSON.stringify(summary));
      return;
    }
    print(`\n${formatSummary(summary)}`);
    if (!given.show || summary.steps === 0) {
      return;
    }
    const message = service.reading((store) => findMostCredited(store, summary.run));
    if (message === null) {
      return;
    }
    const bucket = await service.replay(
      { message: message.id, alternatives: 4, replays: 4, text: null },
      { signal: context.signal, onProgress: () => undefined },
    );
    const problem = service.reading((store) => store.problem(message.problem));
    print(`\n${formatFinding(problem, message, bucket.alternatives)}\n\n${formatBucket(message, bucket)}`);
    if (service.reading((store) => store.evaluations(summary.run)).length > 0) {
      const losses = await service.blameRun(
        { run: summary.run, budget: SHOWN_BUDGET },
        { signal: context.signal, onProgress: () => undefined },
      );
      print(`\n${formatRunBlame({ ...losses, cases: losses.cases.slice(0, SHOWN_CASES) }).join('\n')}`);
    }
    print('\nOpen it in VS Code: npm run code, then the C3 view in the activity bar.');
  });
}

/** Runs with progress on standard error. If a run that began does not finish, prints how to resume it. */
export async function runResumably(
  context: CommandContext,
  work: (onProgress: (progress: RunProgress) => void) => Promise<RunSummary>,
): Promise<RunSummary> {
  const { note } = context;
  const show = createProgressPrinter(context);
  let run: string | undefined;
  try {
    return await work((progress) => {
      run = progress.run ?? run;
      if (progress.run !== null || progress.total >= LARGE_MODEL) {
        show(progress);
      }
    });
  } catch (error) {
    if (run !== undefined) {
      note(`Run ${run} can be resumed: c3 run --resume ${run}`);
    }
    throw error;
  }
}

/** Returns the message of a run's last step with the clearest credit, or the first of several. */
function findMostCredited(store: StoreReader, id: string): Message | null {
  const steps = store.countSteps(id);
  return findClearest(
    listLastBuckets(store, id, steps).flatMap(({ alternatives }) =>
      alternatives.map(({ message: one }) => store.message(one)),
    ),
  );
}

function listLastBuckets(store: StoreReader, run: string, iteration: number): BucketView[] {
  const total = store.countBuckets({ run, origin: 'training' });
  const window = store
    .bucketsOfRun({ run, origin: 'training', offset: Math.max(0, total - 200), limit: 200 })
    .filter((bucket) => bucket.iteration === iteration);
  // The messages of the first role decide the most.
  return window.filter(({ role }) => role === window[0]?.role);
}

export async function replay(given: Given<typeof REPLAY>, context: CommandContext): Promise<void> {
  const { print, note } = context;
  const { message, alternatives, replays, text, result, independent, team } = given;
  const settling = readSettleOption(given);
  const asked = {
    message,
    alternatives,
    replays,
    text,
    result,
    independent,
    continuation: readContinuation(given, context),
    spending: readSpendingOptions(given),
    ...(team !== null && { team: resolve(context.folder, team) }),
  };
  const show = createProgressPrinter(context);
  await withService(given, context, async (service) => {
    await service.updated(context.signal);
    const most =
      settling === null
        ? 0
        : (settling.most ?? service.reading((store) => countDefaultReplays(store.message(message))));
    const request = settling === null ? asked : { ...asked, settle: { replays: most } };
    const bucket = await service.replay(request, {
      signal: context.signal,
      onProgress: (_, done, total) => show({ done, total, message: `Replaying: ${done} of ${total}` }),
      onRemark: note,
    });
    const verified = await service.proveBucket(bucket.id, context.signal);
    const episode = service.reading((store) => readVotedEpisode(store, message));
    const vote = episode === null ? null : await recountStoredVote(episode);
    const { stored, estimates, draws } = service.reading((store) => ({
      stored: store.message(message),
      estimates: withVote(estimateMessage(store.message(message), store.bucketsFor(message)), message, vote),
      draws: classifyDraws(store.replaysOfBucket(bucket.id), (id) => store.fullMessage(id).streamKey),
    }));
    if (given.json) {
      print(
        JSON.stringify({
          ...toReplayDocument(message, verified),
          ...toSettledDocument(bucket),
          draws,
          continuation: verified.continuation,
          estimates: toEstimateDocument(estimates),
        }),
      );
    } else {
      print(
        [
          formatBucket(stored, verified),
          ...(settling === null ? [] : [describeSettling({ ...bucket, ...verified }, most)]),
          'What it was worth, under the weights and the temperature that sampled it:',
          ...formatEstimates(estimates),
          ...(draws === null ? [] : [`Drawn with ${DRAWS_WORDS[draws]}.`]),
        ].join('\n'),
      );
    }
  });
}

/**
 * Returns the maximum replays of --settle, or null without it.
 * @throws C3Error('input') if the number of alternatives or replays is given too
 */
function readSettleOption(given: Given<typeof REPLAY>): { readonly most: number | null } | null {
  if (!given.settle) {
    if (given.atMost !== null) {
      throw new C3Error('input', '--at-most limits --settle; add --settle.');
    }
    return null;
  }
  const other = (['alternatives', 'replays'] as const).find((name) => given.named.has(name));
  if (other !== undefined) {
    throw new C3Error(
      'input',
      `--settle chooses the number of replays itself; omit --${other}, or limit it with --at-most N.`,
    );
  }
  return { most: given.atMost };
}

/** Returns the design of a bucket, and the spending of --settle. */
const toSettledDocument = ({ spent }: ReplayResult): object =>
  spent === undefined ? { design: 'crossed' } : { design: 'paired', spent };

/** Returns the policy that continues the alternatives. */
const readContinuation = (
  { snapshot, temperature, model }: Given<typeof REPLAY>,
  { folder }: CommandContext,
): ContinuationChoice => ({
  snapshot,
  temperature,
  model: model === null || model === '' ? model : resolve(folder, model),
});

/** Returns the pooled credit by estimator, with its newest bucket; null if it was not measured. */
function toEstimateDocument(estimates: readonly MessageEstimate[]): object {
  return Object.fromEntries(
    estimates.map(({ name, bucket, credit }) => [
      name,
      credit === null
        ? null
        : {
            value: credit.value,
            low: credit.low,
            high: credit.high,
            n: credit.n,
            evaluatorCalls: credit.evaluatorCalls,
            bucket,
          },
    ]),
  );
}

/** Returns the document of the contract: the message's own row, apart from the other alternatives. */
function toReplayDocument(message: number, bucket: BucketView): object {
  const rows = bucket.alternatives.map(
    ({ original, message: one, text: words, returns, credit, evaluatorCalls, verified }) => ({
      original,
      row: {
        message: one,
        text: words,
        returns,
        credit: credit === null ? null : toHeadlineJson(credit),
        evaluatorCalls,
        verified,
      },
    }),
  );
  return {
    message,
    bucket: bucket.id,
    original: rows.find(({ original }) => original)?.row ?? null,
    alternatives: rows.filter(({ original }) => !original).map(({ row }) => row),
  };
}

export async function verify(given: Given<typeof VERIFY>, context: CommandContext): Promise<void> {
  const { print, note } = context;
  const { message, sample } = given;
  if (message !== null && (given.run ?? sample) !== null) {
    throw new C3Error('input', 'c3 verify takes either a message or --run and --sample; give one of the two.');
  }
  await withService(given, context, async (service) => {
    const { signal } = context;
    await service.updated(signal);
    const id = given.run ?? service.reading((store) => store.runs(0, 1))[0]?.id;
    if (id === undefined) {
      throw new C3Error('input', `The store ${service.storePath} holds no run; start one with \`c3 run\`.`);
    }
    const show = createProgressPrinter(context);
    const control = {
      signal,
      onRemark: note,
      onProgress: (done: number, total: number) =>
        show({ done, total, message: `Verifying replays: ${done} of ${total}` }),
    };
    const report =
      message === null
        ? await service.verify(id, sample, control)
        : await service.verifyMessage(message, { ...control, again: true });
    if (given.json) {
      print(JSON.stringify(report));
    } else {
      print(describeReport(message === null ? id : `message ${message}`, report));
    }
    if (report.different > 0) {
      context.fails();
    }
  });
}
