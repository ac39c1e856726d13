/** `c3 import` of logs that other programs recorded of their agents. */

import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { IMPORTED, MAX_EVENT_TEXT, type LogImport } from '../../domain/episode.ts';
import { Survey, type RecordedLog } from '../../logs/episode.ts';
import { readLog } from '../../logs/readLog.ts';
import { LogReader } from '../../logs/source.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { ImportLogParams } from '../../shared/protocols/engineProtocol.ts';
import { MOST_NAME } from '../../shared/speakerNames.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import type { StoreWriter } from '../../store/types.ts';
import { ContextsToStore, type EntryToStore, type EpisodeToStore } from './contextTexts.ts';
import { LogIndex } from './logIndex.ts';
import { LogRows } from './logRows.ts';
import { openLog, type OpenLog } from './openLog.ts';

/** Maximum characters of episodes that are kept in memory; a longer log is read a second time. */
const KEPT_CHARACTERS = 2 ** 26;
/** Characters that are added for each entry besides its texts. */
const CHARACTERS_PER_ENTRY = 512;

/** Milliseconds of work before other tasks of the process get a turn. */
const TURN_MILLISECONDS = 20;
const MOST_MODELS = 20;
const CUT_EVENTS = `ends of texts from outside that are longer than ${MAX_EVENT_TEXT.toLocaleString('en')} characters`;

/** The parts of the engine's work with its store that an import needs. */
export interface ImportPlace {
  readonly stopping: (signal: AbortSignal) => AbortSignal;
  readonly tracked: <Result>(work: Promise<Result>) => Promise<Result>;
  readonly writing: <Result>(
    what: string,
    signal: AbortSignal,
    work: (store: StoreWriter) => Result,
  ) => Promise<Result>;
}

/**
 * Stores a log that other programs recorded of their agents as a run. The log is first read to its
 * end, in turns with other work; then everything is stored at once.
 * @throws C3Error('input') for a file that is not a log; C3Error('store'); CancelledError
 */
export function importLog(work: ImportPlace, params: ImportLogParams, given: AbortSignal): Promise<LogImport> {
  const signal = work.stopping(given);
  const imported = async (): Promise<LogImport> => {
    const open = await openLog(params.path, signal);
    try {
      const index = new LogIndex(params.path);
      try {
        const log = await surveyLog({ ...open, index }, params, signal);
        return await work.writing('import', signal, (store) => storeLog(store, log, new Date().toISOString()));
      } finally {
        index.close();
      }
    } finally {
      open.close();
    }
  };
  return work.tracked(imported());
}

/** A log that was read once, with everything that is needed to store it. */
export interface SurveyedLog {
  readonly path: string;
  readonly index: LogIndex;
  readonly episodes: () => Iterable<EpisodeToStore>;
  readonly models: readonly string[];
  readonly speakers: readonly string[];
  readonly report: LogImport;
}

/**
 * Reads a log to its end, so that storing it cannot fail because of its content.
 * @param index a new index: it is filled, and must stay open while the episodes are read
 * @param path of the file that the user named
 * @param maskSecrets true to mask texts that look like keys
 * @param renames other names for speakers
 * @param most maximum characters of episodes that are kept in memory; a longer log is read a second
 *   time
 * @throws C3Error('input') if the file is not JSON or not a log of a known form, or if a renamed
 *   speaker never speaks; CancelledError
 */
export async function surveyLog(
  { source, leftOut, index }: Pick<OpenLog, 'source' | 'leftOut'> & Pick<SurveyedLog, 'index'>,
  { path, maskSecrets, renames = [] }: ImportLogParams,
  signal: AbortSignal,
  most = KEPT_CHARACTERS,
): Promise<SurveyedLog> {
  const reader = new LogReader(source, maskSecrets);
  const survey = new Survey(renames);
  for (const [reason, count] of leftOut) {
    survey.leaveOut(reason, count);
  }
  const hash = createHash('sha256');
  const log = await runInTurns(
    readLog(reader, index, survey, (bytes) => hash.update(bytes)),
    signal,
  );
  if (log === null) {
    throw new C3Error(
      'input',
      `${path} is no log of a known form: give OpenTelemetry spans in JSON (OTLP), an Inspect log, a LangGraph checkpoint database, runs of LangSmith, observations of Langfuse, conversations (objects with messages, or lists of messages) as JSON or one in each line, or buckets of the C3 authors.`,
    );
  }
  // A log with masked texts or other names is a different log than the unchanged one.
  if (survey.masked > 0) {
    hash.update(`masked ${survey.masked}`);
  }
  if (renames.length > 0) {
    hash.update(`renamed ${JSON.stringify(renames.toSorted(([a], [b]) => (a < b ? -1 : 1)))}`);
  }
  const counts = new Counts(most);
  await runInTurns(counts.of(log, survey), signal);
  const { renameFault } = survey;
  if (renameFault !== null) {
    throw new C3Error('input', `${renameFault} Nothing was stored.`);
  }
  const run = `${IMPORTED}-${hash.digest('hex').slice(0, 12)}`;
  survey.leaveOut('beginnings of contexts that are longer than is stored', counts.contexts.shortened);
  const report: LogImport = {
    run,
    known: false,
    format: log.format,
    episodes: counts.episodes,
    messages: counts.messages,
    events: counts.events,
    scored: counts.scored,
    speakers: [...survey.speakers].map(([name, by]) => ({
      name: toOneLine(name, MOST_NAME),
      by,
      messages: counts.said.get(name) ?? 0,
    })),
    leftOut: Object.fromEntries(survey.leftOut),
    masked: maskSecrets ? survey.masked : null,
  };
  const { kept } = counts;
  return {
    path,
    index,
    episodes: () => kept ?? new ContextsToStore().episodes(log.episodes(new Survey(renames))),
    models: [...counts.models],
    speakers: [...survey.speakers.keys()],
    report,
  };
}

/**
 * Stores every episode of a log, all or none. Changes nothing if the log is in the store already.
 * @param now ISO 8601
 * @throws C3Error('store'); C3Error('input') if the file changed after it was read
 */
export function storeLog(
  store: StoreWriter,
  { path, index, episodes, models, speakers, report }: SurveyedLog,
  now: string,
): LogImport {
  if (store.runs(0, store.countRuns()).some(({ id }) => id === report.run)) {
    return { ...report, known: true };
  }
  if (report.episodes > 0) {
    const title = `Imported from ${basename(path)}`.slice(0, 200);
    const run = { id: report.run, source: path, folder: dirname(path), title, models, speakers };
    store.bulk(() => {
      const rows = new LogRows(store, run, index.earlier);
      rows.begin(run, now);
      rows.episodes(episodes());
      rows.done(now);
    });
  }
  return report;
}

/** Counts the content of a log. */
class Counts {
  episodes = 0;
  messages = 0;
  events = 0;
  scored = 0;
  /** Messages by speaker. */
  readonly said = new Map<string, number>();
  readonly models = new Set<string>();
  readonly contexts = new ContextsToStore();
  /** All episodes, or null once they are too large to keep in memory. */
  kept: EpisodeToStore[] | null = [];
  private characters = 0;
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  *of(log: RecordedLog, survey: Survey): Generator<undefined, undefined> {
    for (const episode of log.episodes(survey)) {
      this.episodes++;
      this.scored += episode.return === null ? 0 : 1;
      const entries: EntryToStore[] = [];
      this.kept?.push({ ...episode, entries });
      for (const recorded of episode.entries) {
        const entry = this.contexts.entry(recorded);
        if (entry.kind === 'event') {
          this.events++;
          survey.leaveOut(CUT_EVENTS, entry.text.length > MAX_EVENT_TEXT ? 1 : 0, entry.source);
        } else {
          this.messages++;
          this.said.set(entry.speaker, (this.said.get(entry.speaker) ?? 0) + 1);
          const { context } = entry.context;
          this.characters += (typeof context === 'string' ? context : context.since).length;
          if (entry.model !== null && this.models.size < MOST_MODELS) {
            this.models.add(entry.model);
          }
        }
        this.characters += entry.text.length + CHARACTERS_PER_ENTRY;
        if (this.characters > this.most) {
          this.kept = null;
        } else {
          entries.push(entry);
        }
        yield undefined;
      }
    }
    return undefined;
  }
}

/** Runs a generator to its end, giving other tasks of the process their turns. */
async function runInTurns<Result>(work: Generator<undefined, Result>, signal: AbortSignal): Promise<Result> {
  let since = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) {
      return value;
    }
    if (performance.now() - since > TURN_MILLISECONDS) {
      await setImmediate();
      since = performance.now();
    }
    if (signal.aborted) {
      throw new CancelledError();
    }
  }
}
