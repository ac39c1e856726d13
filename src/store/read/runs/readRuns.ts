/** Reads runs, steps, snapshots, problems and episodes. */
import type { Episode } from '../../../domain/episode.ts';
import type { Ledger, RunRecord, RunSummary } from '../../../domain/run.ts';
import { OTHER_MODEL, WITHIN_STEP, type NumericEnvironment, type Snapshot } from '../../../domain/snapshot.ts';
import type { Step, StepMetrics } from '../../../domain/step.ts';
import { guarded, type Session } from '../../files/sqlite.ts';
import { checkedPage, notFound } from '../../rows.ts';
import { EPISODES } from '../../tables/episodeNotes.ts';
import { problemOf, type StoredProblem } from '../../tables/problemTests.ts';
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
    run: guarded(session, (id) => runOf(run.get(id) ?? notFound(session, 'run', id))),
    runConfig: guarded(session, (id) => (config.get(id) ?? notFound(session, 'run', id)).config),
    returnScale: guarded(session, scaleReader(db)),
    runs: guarded(session, (offset, limit) => runs.all(checkedPage({ offset, limit })).map(runOf)),
    countRuns: guarded(session, () => countRuns.get() ?? 0),
    steps: guarded(session, (of, offset, limit) =>
      steps.all({ run: of, ...checkedPage({ offset, limit }) }).map(stepOf),
    ),
    countSteps: guarded(session, (of) => countSteps.get(of) ?? 0),
    snapshots: guarded(session, (id) => snapshots.all(id)),
    snapshotsOfRun: guarded(session, (of) => snapshotsOfRun.all(of)),
    problem: guarded(session, (uidSha) => problemOf(problem.get(uidSha) ?? notFound(session, 'problem', uidSha))),
    environment: guarded(session, (id) => environment.get(id) ?? notFound(session, 'environment', id)),
    episodes: guarded(session, ({ run: of, phase, iteration, ...page }) =>
      episodes.all({ run: of, phase, iteration, ...checkedPage(page) }),
    ),
    countEpisodes: guarded(session, (round) => countEpisodes.get(round) ?? 0),
    maskedEpisodes: guarded(session, (of) => masked.get(of) ?? 0),
    counts: guarded(session, () => counts.get() ?? notFound(session, 'row of', 'counts')),
  };
}

// The store wrote this JSON itself.
function runOf(row: RunRow): RunRecord {
  return {
    ...row,
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    summary: row.summary === null ? null : (JSON.parse(row.summary) as RunSummary),
  };
}

function stepOf(row: StepRow): Step {
  return {
    ...row,
    metrics: row.metrics === null ? null : (JSON.parse(row.metrics) as StepMetrics),
    ledger: JSON.parse(row.ledger) as Ledger,
  };
}
