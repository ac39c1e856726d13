/** Searches the questions of problems. */

import { withStoreErrors } from '../../files/sqlite.ts';
import type { Session } from '../../files/sqlite.ts';
import { checkPage } from '../../rows.ts';
import type { FoundQuestion, StoreReader } from '../../types.ts';
import { prepareNewestRound } from './readProblems.ts';
import { buildMatch } from './readSearch.ts';

interface Found {
  readonly problem: number;
  readonly run: string;
  readonly instance: number;
  readonly uidSha: string;
  readonly question: string;
}

/** Characters of a question in a list. */
const SHOWN = 500;

export function questionReaders({ db, path }: Session): Pick<StoreReader, 'searchQuestions' | 'questionHas'> {
  const session = { db, path };
  // The query starts with the hits, because each question is stored once for all runs.
  const hits = db.prepare<[{ match: string; run: string | null; limit: number }], Found>(`
    SELECT problem.id AS problem, problem.run, instance.id AS instance, uid_sha AS uidSha, substr(instance.question, 1, ${SHOWN}) AS question
    FROM question_search CROSS JOIN problem ON problem.instance = question_search.rowid CROSS JOIN instance ON instance.id = problem.instance
    WHERE question_search MATCH @match AND (@run IS NULL OR problem.run = @run) ORDER BY problem.id DESC LIMIT @limit`);
  const newestRound = prepareNewestRound(session);
  const first = db
    .prepare<[{ run: string; phase: string; iteration: number; instance: number }], number>(
      `
    SELECT id FROM decision WHERE run = @run AND phase = @phase AND iteration = @iteration AND instance = @instance ORDER BY id LIMIT 1`,
    )
    .pluck();
  const has = db
    .prepare<[{ match: string; problem: string }], number>(
      `
    SELECT 1 FROM instance CROSS JOIN question_search ON question_search.rowid = instance.id
    WHERE uid_sha = @problem AND question_search MATCH @match`,
    )
    .pluck();
  return {
    searchQuestions: withStoreErrors(session, ({ query, run = null, limit }) => {
      checkPage({ offset: 0, limit });
      return hits
        .all({ match: buildMatch(query), run, limit })
        .flatMap(({ problem, run: of, instance, uidSha, question }): FoundQuestion[] => {
          const round = newestRound.get(problem);
          const message =
            round === undefined
              ? undefined
              : first.get({ run: of, instance, phase: round.phase, iteration: round.iteration });
          return round === undefined || message === undefined
            ? []
            : [{ run: of, ...round, problem: uidSha, question, message }];
        });
    }),
    questionHas: withStoreErrors(
      session,
      (problem, query) => has.get({ match: buildMatch(query), problem }) !== undefined,
    ),
  };
}
