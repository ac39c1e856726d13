/** Reads the problems of a run: their filtered and sorted ids, and pages of them. */

import {
  EVALUATION_ROUNDS,
  evaluationRound,
  type EvaluationRound,
  type EvaluationKind,
} from '../../../domain/evaluation.ts';
import {
  MOST_ROUNDS,
  NOT_CLASSIFIED,
  QUESTION_LIMIT,
  PROBLEM_COLUMNS,
  type ClearestCredit,
  type ProblemColumn,
  type ProblemFacets,
  type ProblemFilter,
  type ProblemRound,
  type ProblemRow,
} from '../../../domain/problem.ts';
import { outcomeRange, type ReturnScale } from '../../../shared/credit/returns.ts';
import { withStoreErrors, type Session } from '../../files/sqlite.ts';
import { EPISODES, IS_NEWEST_NOTE } from '../../tables/episodeNotes.ts';
import { scaleReader } from '../../tables/returnScales.ts';
import type { ProblemQuery, StoreReader, TreeGroup } from '../../types.ts';
import type { ReadMessages } from '../readMessages.ts';
import { buildMatch } from './readSearch.ts';

type ProblemReaders = Pick<StoreReader, 'problemIds' | 'problems' | 'problemFacets' | 'problemOpening'>;

interface Row extends Omit<
  ProblemRow,
  | 'rounds'
  | 'greedyBefore'
  | 'sampledBefore'
  | 'greedyAfter'
  | 'sampledAfter'
  | 'meanReturn'
  | 'clearest'
  | 'handScore'
  | 'handReturns'
  | 'tags'
  | 'tokens'
  | 'cut'
> {
  readonly total: number;
  readonly length: number;
  readonly prompt: number;
  readonly reused: number;
  readonly completion: number;
  readonly clearMessage: number | null;
}

/** The user's note on one episode of a problem. */
interface NoteRow {
  readonly problem: number;
  readonly score: number | null;
  readonly tags: string;
  readonly isReturn: 0 | 1;
}

interface RoundRow extends ProblemRound {
  readonly problem: number;
}

/** Returns the SQL of the mean return of `problem` in an evaluation; null if there is none. */
const evaluationMeanSql = (stage: EvaluationRound['stage'], kind: EvaluationKind): string => {
  const iteration = EVALUATION_ROUNDS.find((round) => round.stage === stage && round.kind === kind)?.iteration ?? 0;
  return `(SELECT total / returns FROM problem_round WHERE problem = problem.id AND phase = 'evaluate' AND iteration = ${iteration})`;
};
/** The round of messages that another program recorded. Without a score they belong to no episode. */
const RECORDED = { phase: 'evaluate', iteration: EVALUATION_ROUNDS[1].iteration } as const;
const trainedMeanSql = (order: 'ASC' | 'DESC'): string =>
  `(SELECT total / returns FROM problem_round WHERE problem = problem.id AND phase = 'train' AND returns > 0 ORDER BY iteration ${order} LIMIT 1)`;

const BEFORE = `coalesce(${evaluationMeanSql('before', 'greedy')}, ${evaluationMeanSql('before', 'sampled')})`;
const AFTER = `coalesce(${evaluationMeanSql('after', 'greedy')}, ${evaluationMeanSql('after', 'sampled')})`;
/**
 * The first and the latest outcome, in the order of time: evaluation before, training, evaluation
 * after. Problems of an evaluation are not trained on.
 */
const FIRST = `coalesce(${BEFORE}, ${trainedMeanSql('ASC')}, ${AFTER})`;
const DURING = `(SELECT total / returns FROM problem_round WHERE problem = problem.id AND phase = 'evaluate' AND iteration > ${EVALUATION_ROUNDS.length} AND iteration % 2 = 1 AND returns > 0
  ORDER BY iteration DESC LIMIT 1)`;
const LATEST = `coalesce(${AFTER}, ${trainedMeanSql('DESC')}, ${DURING}, ${BEFORE})`;
const CLASS = `coalesce(class.name, '${NOT_CLASSIFIED}')`;

const ORDERS: Readonly<Record<ProblemColumn, string>> = {
  appearance: 'problem.id',
  question: 'question COLLATE NOCASE',
  outcome: LATEST,
  before: BEFORE,
  after: AFTER,
  return: 'problem.total / problem.returns',
  credit: 'clearness',
  chance: "json_extract(loss.found, '$.start')",
  lostBy: "json_extract(loss.found, '$.order')",
  class: 'class.name',
  tokens: 'prompt_tokens - reused_tokens + completion_tokens',
  seconds: 'seconds',
  calls: 'evaluator_calls',
  byHand: '(SELECT avg(score) FROM noted WHERE noted.instance = problem.instance)',
  tags: '(SELECT min(tag.value) FROM noted JOIN json_each(noted.tags) AS tag WHERE noted.instance = problem.instance)',
};

/** The user's notes on the episodes of the run @run, with their problems. */
const NOTED = `noted AS (
  SELECT instance, score, note, tags FROM episode_note AS own JOIN decision ON decision.id = own.leaf
  WHERE own.run = @run AND ${IS_NEWEST_NOTE})`;

/** True if the latest outcome is between the bounds of these returns. */
const isLatestSql = (outcome: 'won' | 'failed'): string => `${LATEST} BETWEEN @${outcome}Low AND @${outcome}High`;

const OUTCOMES: Readonly<Record<Exclude<ProblemFilter['outcome'], 'all'>, string>> = {
  lost: `NOT (${isLatestSql('won')})`,
  between: `NOT (${isLatestSql('won')}) AND NOT (${isLatestSql('failed')})`,
  won: isLatestSql('won'),
  changed: `${FIRST} <> ${LATEST}`,
  improved: `${FIRST} < ${LATEST}`,
  worsened: `${FIRST} > ${LATEST}`,
};

const VERDICTS: Readonly<Record<Exclude<ProblemFilter['verdict'], 'all'>, string>> = {
  helped: 'clearness > 0 AND clear_value > 0',
  hurt: 'clearness > 0 AND clear_value < 0',
  undecided: 'clearness <= 0',
  none: 'clearness IS NULL',
};

/** True if a problem has a round of this phase. */
const hasRoundSql = (phase: string): string =>
  `EXISTS (SELECT 1 FROM problem_round WHERE problem = problem.id AND phase = '${phase}')`;

/** Columns that may be empty in all rows of a run, with the condition that a row fills them. */
const FILLED: Readonly<Partial<Record<ProblemColumn, string>>> = {
  outcome: 'EXISTS (SELECT 1 FROM problem_round WHERE problem = problem.id AND returns > 0)',
  before: `${BEFORE} IS NOT NULL`,
  after: `${AFTER} IS NOT NULL`,
  return: 'returns > 0',
  credit: 'clear_message IS NOT NULL',
  tokens: 'prompt_tokens + completion_tokens > 0',
  seconds: 'seconds IS NOT NULL',
  calls: 'evaluator_calls > 0',
  byHand: `EXISTS (SELECT 1 FROM episode_note AS own WHERE own.run = @run AND score IS NOT NULL AND ${IS_NEWEST_NOTE})`,
  tags: `EXISTS (SELECT 1 FROM episode_note AS own WHERE own.run = @run AND tags <> '[]' AND ${IS_NEWEST_NOTE})`,
};

const ROWS = `
  SELECT problem.id, uid_sha AS problem, uid, source, level, substr(question, 1, ${QUESTION_LIMIT}) AS question, length(question) AS length,
    returns, total, masked, evaluator_calls AS evaluatorCalls, prompt_tokens AS prompt, reused_tokens AS reused, completion_tokens AS completion, seconds, clear_message AS clearMessage
  FROM json_each(?) AS asked CROSS JOIN problem ON problem.id = asked.value CROSS JOIN instance ON instance.id = problem.instance ORDER BY asked.key`;
const ROUNDS = `
  SELECT problem, phase, iteration, iif(returns > 0, total / returns, NULL) AS mean, episodes
  FROM json_each(?) AS asked CROSS JOIN problem_round ON problem = asked.value ORDER BY problem, phase, iteration`;

// The query starts with the notes, because there are few.
const NOTES = `
  WITH asked AS (SELECT value AS id FROM json_each(?))
  SELECT problem.id AS problem, score, tags,
    EXISTS (SELECT 1 FROM hand_return WHERE hand_return.leaf = own.leaf) AS isReturn
  FROM episode_note AS own CROSS JOIN decision ON decision.id = own.leaf
  CROSS JOIN problem ON problem.run = own.run AND problem.instance = decision.instance
  WHERE own.run IN (SELECT run FROM problem WHERE id IN (SELECT id FROM asked))
    AND problem.id IN (SELECT id FROM asked) AND ${IS_NEWEST_NOTE} ORDER BY own.leaf`;

export function problemReaders(session: Session, messagesOf: ReadMessages): ProblemReaders {
  const { db } = session;
  const rows = db.prepare<[string], Row>(ROWS);
  const rounds = db.prepare<[string], RoundRow>(ROUNDS);
  const notes = db.prepare<[string], NoteRow>(NOTES);
  const count = db.prepare<[string], number>('SELECT count(*) FROM problem WHERE run = ?').pluck();
  const split = db
    .prepare<[string], number>(`SELECT count(*) FROM problem WHERE run = ? AND ${hasRoundSql('train')}`)
    .pluck();
  const evaluated = db
    .prepare<[string], number>(`SELECT count(*) FROM problem WHERE run = ? AND ${hasRoundSql('evaluate')}`)
    .pluck();
  const roles = db
    .prepare<[string], string>(
      'SELECT DISTINCT clear_role FROM problem WHERE run = ? AND clear_role IS NOT NULL ORDER BY 1',
    )
    .pluck();
  const filled = db.prepare<{ run: string }, Record<ProblemColumn, number>>(
    `SELECT 1 AS appearance, 1 AS question, ${Object.entries(FILLED)
      .map(([column, fills]) => `EXISTS (SELECT 1 FROM problem WHERE run = @run AND ${fills}) AS "${column}"`)
      .join(', ')}`,
  );
  const place = db.prepare<[number], { run: string; instance: number; uidSha: string; clearMessage: number | null }>(`
    SELECT run, instance, uid_sha AS uidSha, clear_message AS clearMessage FROM problem JOIN instance ON instance.id = problem.instance WHERE problem.id = ?`);
  const scaleOf = scaleReader(db);
  const newestRound = prepareNewestRound(session);
  const lostLeaf = db
    .prepare<[{ run: string; phase: string; iteration: number; instance: number }], number>(
      `
    SELECT leaf FROM ${EPISODES} WHERE run = @run AND phase = @phase AND iteration = @iteration
      AND instance = @instance ORDER BY return IS NULL, return, id LIMIT 1`,
    )
    .pluck();
  const unscored = db
    .prepare<[{ run: string; phase: string; iteration: number; instance: number }], number>(
      `
    SELECT id FROM decision WHERE run = @run AND phase = @phase AND iteration = @iteration AND instance = @instance ORDER BY id LIMIT 1`,
    )
    .pluck();

  return {
    problemIds: withStoreErrors(session, (query) => {
      const { sql, values } = buildProblemStatement(query, scaleOf(query.run));
      return db.prepare<[Values], number>(sql).pluck().all(values);
    }),
    problems: withStoreErrors(session, (ids) => {
      const asked = JSON.stringify(ids);
      const found = rows.all(asked);
      const byProblem = Map.groupBy(rounds.all(asked), ({ problem }) => problem);
      const noted = Map.groupBy(notes.all(asked), ({ problem }) => problem);
      const messages = new Map(
        messagesOf(found.flatMap(({ clearMessage }) => clearMessage ?? [])).map((message) => [message.id, message]),
      );
      return found.map((row) =>
        toProblemRow(
          row,
          byProblem.get(row.id) ?? [],
          noted.get(row.id) ?? [],
          toClearestCredit(messages.get(row.clearMessage ?? -1)),
        ),
      );
    }),
    problemFacets: withStoreErrors(session, (run): ProblemFacets => ({
      total: count.get(run) ?? 0,
      trained: split.get(run) ?? 0,
      evaluated: evaluated.get(run) ?? 0,
      roles: roles.all(run),
      filled: PROBLEM_COLUMNS.filter((column) => filled.get({ run })?.[column] === 1),
    })),
    problemOpening: withStoreErrors(session, (id, round) => {
      const of = place.get(id);
      if (of === undefined) {
        return null;
      }
      const group = (phase: 'train' | 'evaluate' | 'replay', iteration: number): TreeGroup => ({
        run: of.run,
        phase,
        iteration,
        problem: of.uidSha,
      });
      if (round === null && of.clearMessage !== null) {
        const message = messagesOf([of.clearMessage])[0];
        if (message !== undefined) {
          return { target: group(message.phase, message.iteration), message: message.id };
        }
      }
      const at = round ?? newestRound.get(id);
      const { phase, iteration } = at ?? RECORDED;
      const where = { run: of.run, phase, iteration, instance: of.instance };
      const leaf = lostLeaf.get(where) ?? unscored.get(where);
      return leaf === undefined ? null : { target: group(phase, iteration), message: leaf };
    }),
  };
}

/** Selects the round that a problem is opened at: its newest in training, else its newest evaluation. */
export const prepareNewestRound = ({ db }: Session) =>
  db.prepare<[number], { phase: 'train' | 'evaluate'; iteration: number }>(`
  SELECT phase, iteration FROM problem_round WHERE problem = ? ORDER BY phase = 'train' DESC, phase = 'evaluate' AND iteration = 3 DESC, iteration DESC LIMIT 1`);

type Values = Readonly<Record<string, string | number>>;

/** Returns the statement of a query. Text that the user typed is passed as values only. */
function buildProblemStatement(
  { run, filter, sort, classes, losses = {} }: ProblemQuery,
  scale: ReturnScale | null,
): { readonly sql: string; readonly values: Values } {
  const values: Record<string, string | number> = { run };
  const conditions = ['problem.run = @run'];
  const tables: string[] = [NOTED];
  const joins: string[] = [];
  const join = (name: string, columns: string, known: object): void => {
    values[name] = JSON.stringify(known);
    tables.push(`${name} ${columns} AS MATERIALIZED (SELECT key, value FROM json_each(@${name}))`);
    joins.push(`LEFT JOIN ${name} ON ${name}.uid_sha = instance.uid_sha`);
  };
  if (sort.column === 'class' || filter.className !== null) {
    join('class', '(uid_sha, name)', classes);
  }
  if (sort.column === 'chance' || sort.column === 'lostBy') {
    join('loss', '(uid_sha, found)', losses);
  }
  if (filter.outcome !== 'all') {
    conditions.push(`(${OUTCOMES[filter.outcome]})`);
    for (const outcome of ['won', 'failed'] as const) {
      [values[`${outcome}Low`], values[`${outcome}High`]] = outcomeRange(outcome, scale);
    }
  }
  if (filter.verdict !== 'all') {
    conditions.push(`(${VERDICTS[filter.verdict]})`);
  }
  if (filter.split !== 'all') {
    conditions.push(hasRoundSql(filter.split === 'train' ? 'train' : 'evaluate'));
  }
  if (filter.role !== null) {
    conditions.push('clear_role = @role');
    values['role'] = filter.role;
  }
  if (filter.className !== null) {
    conditions.push(`${CLASS} = @className`);
    values['className'] = filter.className;
  }
  conditions.push(...searchConditions(filter.search, values));
  const expression = ORDERS[sort.column];
  const direction = sort.descending ? 'DESC' : 'ASC';
  return {
    values,
    sql: `WITH ${tables.join(', ')}
      SELECT problem.id FROM problem CROSS JOIN instance ON instance.id = problem.instance ${joins.join(' ')}
      WHERE ${conditions.join(' AND ')} ORDER BY (${expression}) IS NULL, ${expression} ${direction}, problem.id`,
  };
}

/** The fields that a word of a search may name. */
const FIELDS = {
  level: 'cast(level AS TEXT) LIKE',
  source: 'source LIKE',
  uid: 'uid LIKE',
  question: 'question LIKE',
} as const;
const MESSAGE_FIELD = 'message';
/**
 * Fields of the user's notes on episodes of the problem.
 * @param like a pattern
 */
const NOTE_FIELDS = {
  tag: (like: string) =>
    `problem.instance IN
      (SELECT noted.instance FROM noted JOIN json_each(noted.tags) AS tag WHERE tag.value LIKE ${like})`,
  note: (like: string) => `problem.instance IN (SELECT instance FROM noted WHERE note LIKE ${like})`,
} as const;

interface SearchWord {
  readonly field: string | null;
  readonly word: string;
}

/** Splits a search into words. Quotes join several words. */
export function splitSearch(search: string): readonly SearchWord[] {
  return [...search.matchAll(/(?:([a-z]+):)?(?:"([^"]*)"|(\S+))/giu)].flatMap(
    ([whole, name, quoted, bare]): SearchWord[] => {
      const field = name?.toLowerCase() ?? null;
      const word = quoted ?? bare ?? '';
      if (word === '') {
        return [];
      }
      return field === null ||
        field === MESSAGE_FIELD ||
        Object.hasOwn(FIELDS, field) ||
        Object.hasOwn(NOTE_FIELDS, field)
        ? [{ field, word }]
        : [{ field: null, word: whole }];
    },
  );
}

/** A question on one line, as it is when pasted into a search field. */
const ON_ONE_LINE = "trim(replace(replace(question, char(13), ''), char(10), ' '))";

/**
 * Returns the conditions of a search. The text of a whole question finds only that question, although
 * others contain its words too. Otherwise every word must match: a word with a field in that field,
 * the others in the question, the metadata or, all together, in one message.
 */
function searchConditions(search: string, values: Record<string, string | number>): readonly string[] {
  const conditions = wordConditions(search, values);
  if (conditions.length === 0) {
    return conditions;
  }
  values['whole'] = search.trim();
  const asked = `EXISTS (
    SELECT 1 FROM problem AS asked JOIN instance ON instance.id = asked.instance
    WHERE asked.run = @run AND ${ON_ONE_LINE} = @whole
  )`;
  return [`CASE WHEN ${asked} THEN ${ON_ONE_LINE} = @whole ELSE ${conditions.join(' AND ')} END`];
}

function wordConditions(search: string, values: Record<string, string | number>): readonly string[] {
  const words = splitSearch(search);
  const like = (word: string, index: number): string => {
    values[`word${index}`] = `%${word.replaceAll(/[\\%_]/gu, '\\$&')}%`;
    return `@word${index} ESCAPE '\\'`;
  };
  const saying = (name: string, said: readonly string[]): string => {
    values[name] = buildMatch(said.join(' '));
    return `problem.instance IN (SELECT decision.instance FROM message_search CROSS JOIN decision ON decision.message = message_search.rowid WHERE message_search MATCH @${name} AND decision.run = @run)`;
  };
  const conditions: string[] = [];
  const anywhere: string[] = [];
  const free: string[] = [];
  const said: string[] = [];
  words.forEach(({ field, word }, index) => {
    if (field === MESSAGE_FIELD) {
      said.push(word);
    } else if (field === 'level') {
      // A level must match as a whole: level:1 is not level:12.
      values[`word${index}`] = word;
      conditions.push(`(level = cast(@word${index} AS REAL) AND @word${index} GLOB '*[0-9]*')`);
    } else if (field !== null && Object.hasOwn(FIELDS, field)) {
      conditions.push(`${FIELDS[field as keyof typeof FIELDS]} ${like(word, index)}`);
    } else if (field !== null && Object.hasOwn(NOTE_FIELDS, field)) {
      conditions.push(NOTE_FIELDS[field as keyof typeof NOTE_FIELDS](like(word, index)));
    } else {
      const pattern = like(word, index);
      anywhere.push(`(question LIKE ${pattern} OR uid LIKE ${pattern} OR source LIKE ${pattern})`);
      free.push(word);
    }
  });
  if (anywhere.length > 0) {
    conditions.push(`((${anywhere.join(' AND ')}) OR ${saying('free', free)})`);
  }
  if (said.length > 0) {
    conditions.push(saying('said', said));
  }
  return conditions;
}

function toClearestCredit(message: ReturnType<ReadMessages>[number] | undefined): ClearestCredit | null {
  if (message === undefined || message.credit === null) {
    return null;
  }
  return { message: message.id, role: message.role, text: message.text.slice(0, TEXT_LIMIT), credit: message.credit };
}

/** Characters of a message in a row. */
const TEXT_LIMIT = 240;

function toProblemRow(
  { total, length, prompt, reused, completion, clearMessage: _, ...row }: Row,
  rounds: readonly RoundRow[],
  notes: readonly NoteRow[],
  clearest: ClearestCredit | null,
): ProblemRow {
  const scores = notes.flatMap(({ score }) => score ?? []);
  const meanOf = (stage: EvaluationRound['stage'], kind: EvaluationKind): number | null => {
    const known = EVALUATION_ROUNDS.find((round) => round.stage === stage && round.kind === kind);
    return rounds.find(({ phase, iteration }) => phase === 'evaluate' && iteration === known?.iteration)?.mean ?? null;
  };
  return {
    ...row,
    cut: length > QUESTION_LIMIT,
    rounds: thinRounds(sortByTime(rounds)),
    greedyBefore: meanOf('before', 'greedy'),
    sampledBefore: meanOf('before', 'sampled'),
    greedyAfter: meanOf('after', 'greedy'),
    sampledAfter: meanOf('after', 'sampled'),
    meanReturn: row.returns === 0 ? null : total / row.returns,
    clearest,
    handScore: scores.length === 0 ? null : scores.reduce((sum, score) => sum + score, 0) / scores.length,
    handReturns: notes.filter(({ isReturn }) => isReturn === 1).length,
    // The store wrote this JSON itself.
    tags: [...new Set(notes.flatMap(({ tags }) => JSON.parse(tags) as string[]))],
    tokens: { prompt, reused, completion },
  };
}

/** Sorts rounds by time: an evaluation comes after the step that it follows. */
function sortByTime(rounds: readonly RoundRow[]): readonly ProblemRound[] {
  const timeOf = ({ phase, iteration }: ProblemRound): number =>
    phase === 'train' ? iteration : (evaluationRound(iteration)?.step ?? Infinity) + 0.5;
  // Two evaluations after training have the time Infinity, whose difference is NaN.
  return rounds
    .map(({ phase, iteration, mean, episodes }) => ({ phase, iteration, mean, episodes }))
    .sort((a, b) => (timeOf(a) === timeOf(b) ? a.iteration - b.iteration : timeOf(a) - timeOf(b)));
}

/** Returns at most MOST_ROUNDS rounds, always with the first and the last. */
function thinRounds(rounds: readonly ProblemRound[]): readonly ProblemRound[] {
  if (rounds.length <= MOST_ROUNDS) {
    return rounds;
  }
  return Array.from(
    { length: MOST_ROUNDS },
    (_, index) => rounds[Math.round((index * (rounds.length - 1)) / (MOST_ROUNDS - 1))],
  ).filter((round) => round !== undefined);
}
