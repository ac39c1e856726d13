/** Reads runs, steps, snapshots, problems and episodes. */

import type { Episode } from '../../../domain/episode.ts';
import type { Ledger, RunRecord, RunSummary } from '../../../domain/run.ts';
import { OTHER_MODEL, WITHIN_STEP, type NumericEnvironment, type Snapshot } from '../../../domain/snapshot.ts';
import type { Step, StepMetrics } from '../../../domain/step.ts';
import { withStoreErrors, type Session } from '../../files/sqlite.ts';
import { checkPage, throwNotFound } from '../../rows.ts';
import { EPISODES } from '../../tables/episodeNotes.ts';
import { toProblem, type StoredProblem } from '../../tables/problemTests.ts';
import { scaleReader } from '../../tables/returnScales.ts';
import type { Page, Round, StoreCounts, StoreReader } from '../../types.ts';

type RunReaders = Pick<
  StoreReader,
  | 'run'
  | 'runConfig'
  | 'returnScale'
  | 'runs'
  | 'countRuns'
  | 'steps'
  | 'countSteps'
  | 'snapshots'
  | 'snapshotsOfRun'
  | 'problem'
  | 'environment'
  | 'episodes'
  | 'countEpisodes'
  | 'maskedEpisodes'
  | 'counts'
>;

type RunRow = Omit<RunRecord, 'summary' | 'tags'> & { readonly summary: string | null; readonly tags: string | null };
type StepRow = Omit<Step, 'metrics' | 'ledger'> & { readonly metrics: string | null; readonly ledger: string };

const RUN = `
  SELECT run.id, method, seed, status, run.created_at AS createdAt, finished_at AS finishedAt, planned_steps AS plannedSteps, summary,
    coalesce(run_note.title, run.title) AS title, coalesce(note, '') AS note, tags,
    (SELECT count(*) FROM step WHERE step.run = run.id AND metrics IS NOT NULL) AS steps
  FROM run LEFT JOIN run_note ON run_note.id = (SELECT max(id) FROM run_note WHERE run_note.run = run.id)`;
const EPISODE_ROWS = `
  SELECT scored.id, run, phase, iteration, uid_sha AS problem, leaf, return, rule,
    evaluator_calls AS evaluatorCalls, question, answer
  FROM ${EPISODES} AS scored JOIN instance ON instance.id = scored.instance
  WHERE run = @run AND phase = @phase AND iteration = @iteration`;
const SNAPSHOT = 'SELECT weights AS id, run, iteration, base, file FROM snapshot';

export function runReaders(session: Session): RunReaders {
  const { db } = session;
  const run = db.prepare<[string], RunRow>(`${RUN} WHERE run.id = ?`);
  const runs = db.prepare<[Page], RunRow>(
    `${RUN} ORDER BY run.created_at DESC, run.rowid DESC LIMIT @limit OFFSET @offset`,
  );
  const config = db.prepare<[string], { config: string }>('SELECT config FROM run WHERE id = ?');
  const countRuns = db.prepare<[], number>('SELECT count(*) FROM run').pluck();
  const steps = db.prepare<[Page & { run: string }], StepRow>(`
    SELECT step.run, step.iteration, snapshot.weights AS snapshot, metrics, ledger,
      (SELECT count(*) FROM episode WHERE episode.run = step.run AND phase = 'train' AND episode.iteration = step.iteration) AS episodes
    FROM step JOIN snapshot ON snapshot.id = step.snapshot
    WHERE step.run = @run ORDER BY step.iteration LIMIT @limit OFFSET @offset`);
  const countSteps = db.prepare<[string], number>('SELECT count(*) FROM step WHERE run = ?').pluck();
  const snapshots = db.prepare<[string], Snapshot>(`${SNAPSHOT} WHERE weights = ? ORDER BY id`);
  const snapshotsOfRun = db.prepare<[string], Snapshot>(
    `${SNAPSHOT} WHERE run = ? AND iteration NOT IN (${OTHER_MODEL}, ${WITHIN_STEP}) ORDER BY iteration, id`,
  );
  const problem = db.prepare<[string], StoredProblem>(
    'SELECT uid, uid_sha AS uidSha, question, answer, source, level, tests FROM instance WHERE uid_sha = ?',
  );
  const environment = db.prepare<[number], NumericEnvironment>(
    'SELECT runtime, provider, device, threads, platform FROM environment WHERE id = ?',
  );
  const episodes = db.prepare<[Round & Page], Episode>(
    `${EPISODE_ROWS} ORDER BY scored.id LIMIT @limit OFFSET @offset`,
  );
  const countEpisodes = db
    .prepare<[Round], number>(
      `SELECT count(*) FROM ${EPISODES} WHERE run = @run AND phase = @phase AND iteration = @iteration`,
    )
    .pluck();
  const masked = db
    .prepare<[string], number>(`SELECT count(*) FROM episode WHERE run = ? AND phase <> 'replay' AND return IS NULL`)
    .pluck();
  const counts = db.prepare<[], StoreCounts>(`
    SELECT (SELECT count(*) FROM run) AS runs, (SELECT count(*) FROM instance) AS instances,
      (SELECT count(*) FROM decision) AS messages,
      (SELECT count(*) FROM episode) AS episodes, (SELECT count(*) FROM bucket) AS buckets, (SELECT count(*) FROM replay) AS replays,
      (SELECT count(*) FROM text) AS texts`);

  return {
    run: withStoreErrors(session, (id) => toRunRecord(run.get(id) ?? throwNotFound(session, 'run', id))),
    runConfig: withStoreErrors(session, (id) => (config.get(id) ?? throwNotFound(session, 'run', id)).config),
    returnScale: withStoreErrors(session, scaleReader(db)),
    runs: withStoreErrors(session, (offset, limit) => runs.all(checkPage({ offset, limit })).map(toRunRecord)),
    countRuns: withStoreErrors(session, () => countRuns.get() ?? 0),
    steps: withStoreErrors(session, (of, offset, limit) =>
      steps.all({ run: of, ...checkPage({ offset, limit }) }).map(toStep),
    ),
    countSteps: withStoreErrors(session, (of) => countSteps.get(of) ?? 0),
    snapshots: withStoreErrors(session, (id) => snapshots.all(id)),
    snapshotsOfRun: withStoreErrors(session, (of) => snapshotsOfRun.all(of)),
    problem: withStoreErrors(session, (uidSha) =>
      toProblem(problem.get(uidSha) ?? throwNotFound(session, 'problem', uidSha)),
    ),
    environment: withStoreErrors(session, (id) => environment.get(id) ?? throwNotFound(session, 'environment', id)),
    episodes: withStoreErrors(session, ({ run: of, phase, iteration, ...page }) =>
      episodes.all({ run: of, phase, iteration, ...checkPage(page) }),
    ),
    countEpisodes: withStoreErrors(session, (round) => countEpisodes.get(round) ?? 0),
    maskedEpisodes: withStoreErrors(session, (of) => masked.get(of) ?? 0),
    counts: withStoreErrors(session, () => counts.get() ?? throwNotFound(session, 'row of', 'counts')),
  };
}

// The store wrote this JSON itself.
function toRunRecord(row: RunRow): RunRecord {
  return {
    ...row,
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    summary: row.summary === null ? null : (JSON.parse(row.summary) as RunSummary),
  };
}

function toStep(row: StepRow): Step {
  return {
    ...row,
    metrics: row.metrics === null ? null : (JSON.parse(row.metrics) as StepMetrics),
    ledger: JSON.parse(row.ledger) as Ledger,
  };
}
