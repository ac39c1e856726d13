/** Read access to the store, for the extension host while the engine writes, or without an engine. */

import { resolveRealFile } from '../../files/realFile.ts';
import { C3Error } from '../../shared/errors.ts';
import { connectForReading, loadSqlite, translateErrors } from '../files/sqlite.ts';
import type { Session } from '../files/sqlite.ts';
import { diagnosticReaders } from '../tables/diagnostics.ts';
import { environmentEventReaders } from '../tables/environmentEvents.ts';
import { episodeNoteReader } from '../tables/episodeNotes.ts';
import { evaluationReaders } from '../tables/evaluations.ts';
import { labelReaders } from '../tables/labels.ts';
import { measurementReaders } from '../tables/measurements.ts';
import { methodStateReaders } from '../tables/methodStates.ts';
import { inspectFile, MIGRATIONS, readStoreVersion } from '../tables/migrations.ts';
import { accountReader } from '../tables/runAccounts.ts';
import { spendingReaders } from '../tables/spending.ts';
import { stageReaders } from '../tables/stages.ts';
import { requireOwnSchema } from '../tables/storeSchema.ts';
import type { StoreReader } from '../types.ts';
import { bucketReaders } from './readBuckets.ts';
import { continuationReader, ownContinuationReader } from './readContinuations.ts';
import { costliestReaders } from './readCostliest.ts';
import { factReaders } from './readFacts.ts';
import { clearestReaders, headlineReader } from './readHeadlines.ts';
import { creditReader, messageReader, messageReaders } from './readMessages.ts';
import { rankingReaders } from './readRankings.ts';
import { runCreditReaders } from './readRunCredits.ts';
import { outlineReaders, treeReader } from './readTrees.ts';
import { iterationReaders } from './runs/readIterations.ts';
import { problemReaders } from './runs/readProblems.ts';
import { questionReaders } from './runs/readQuestions.ts';
import { runReaders } from './runs/readRuns.ts';
import { searchReaders } from './runs/readSearch.ts';
import { stepReaders } from './runs/readSteps.ts';

export type * from '../types.ts';

/** The store has an older version of the schema. Opening it for writing updates it. */
export class OlderStoreError extends C3Error {
  constructor(path: string, version: number) {
    super(
      'store',
      `The store ${path} is of the older version ${version}: start the engine (in VS Code, C3: Update store) or any writing \`c3\` command once to bring it up to date.`,
      { code: 'storeOlder' },
    );
    this.name = 'OlderStoreError';
  }
}

/**
 * Opens an existing store for reading. The next call sees rows that the engine has added.
 * @throws OlderStoreError
 * @throws C3Error('store') if there is no store, it is not a C3 store or is newer, its schema differs
 *   from what C3 makes, or Node is older than 22
 */
export function openStoreForReading(path: string): StoreReader {
  loadSqlite();
  const absolute = resolveRealFile(path);
  if (inspectFile(absolute) !== 'store') {
    throw new C3Error('store', `There is no store at ${absolute} yet: start a run first, or point --store at one.`);
  }
  const { db, fixed } = connectForReading(absolute);
  const session: Session = { db, path: absolute };
  try {
    const version = translateErrors(absolute, () => readStoreVersion(session.db));
    if (version < MIGRATIONS.length) {
      throw new OlderStoreError(absolute, version);
    }
    translateErrors(absolute, () => requireOwnSchema(db, absolute, version, MIGRATIONS));
    return { ...makeReaders(session, () => db.close()), fixed };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Returns all read operations of a connection that sees committed changes. */
export function makeReaders(session: Session, close: () => void): StoreReader {
  return translateErrors(session.path, () => {
    const treeOf = treeReader(session);
    const messagesOf = messageReader(session, treeOf);
    const messages = messageReaders(session, treeOf, messagesOf);
    const continuationOf = continuationReader(session);
    return {
      path: session.path,
      fixed: false,
      ...runReaders(session),
      ...runCreditReaders(session),
      ...iterationReaders(session),
      ...accountReader(session),
      ...stepReaders(session),
      ...diagnosticReaders(session),
      ...evaluationReaders(session),
      ...methodStateReaders(session),
      ...stageReaders(session),
      ...spendingReaders(session),
      ...environmentEventReaders(session),
      ...labelReaders(session),
      ...measurementReaders(session),
      ...messages,
      ...episodeNoteReader(session, messages.lastMessages),
      ...outlineReaders(session, treeOf),
      ...searchReaders(session, messagesOf),
      ...questionReaders(session),
      ...factReaders(session, treeOf),
      ...costliestReaders(session),
      ...bucketReaders(session, treeOf, {
        creditOf: creditReader(session),
        headlineOf: headlineReader(session),
        continuationOf,
      }),
      ...clearestReaders(session),
      ...rankingReaders(session, continuationOf),
      ...problemReaders(session, messagesOf),
      ...ownContinuationReader(session),
      close,
    };
  });
}
