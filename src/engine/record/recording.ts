/** Stores passing calls at once as an imported run: one episode, or one for each given name. */

import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { FURTHER_ANSWERS } from '../../chat/answers.ts';
import { readApiCall, bodyIn, type RecordedApi } from '../../chat/apiCalls.ts';
import {
  joinAnswerPieces,
  toChatMessage,
  findQuestion,
  withToolNames,
  type ParsedMessage,
} from '../../chat/messages.ts';
import type { ModelCall } from '../../chat/modelCall.ts';
import type { LogImport } from '../../domain/episode.ts';
import { CallSpeakers } from '../../logs/callSpeakers.ts';
import {
  ownContext,
  Survey,
  type RecordedEvent,
  type RecordedMeasures,
  type RecordedMessage,
} from '../../logs/episode.ts';
import { maskText } from '../../logs/secrets.ts';
import { newResults } from '../../logs/traces.ts';
import { NEVER, onAbort } from '../../shared/cancellation.ts';
import { MOST_NAME, type Rename } from '../../shared/speakerNames.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import { formatCounted } from '../../shared/text/words.ts';
import type { StoreWriter } from '../../store/types.ts';
import { ContextsToStore } from '../exchange/contextTexts.ts';
import type { ImportPlace } from '../exchange/importLog.ts';
import { createMemoryCounter, LogRows, type EpisodeRows, type LogRun } from '../exchange/logRows.ts';
import { KeptCalls } from './keptCalls.ts';
import { toStoreFailure, GIVE_UP, delayAbort, SOON, StoreQueue } from './storeQueue.ts';

export type CallTimes = Pick<RecordedMeasures, 'start' | 'seconds' | 'firstTokenSeconds'>;

/** One call with its answer. */
export interface PassedCall {
  readonly api: RecordedApi;
  /** Name that the program gave, or null. */
  readonly episode: string | null;
  readonly role: string | null;
  readonly request: string;
  /** The whole answer, or the events of a stream in order. */
  readonly answer: string | readonly string[];
  /** Start in milliseconds since 1970, and seconds to the first token and to the end, if known. */
  readonly times: CallTimes;
  /** Reason to report if the answer has no complete message. */
  readonly otherwise: string;
}

export interface RecordingSettings {
  /** Name of the program in titles. */
  readonly program: string;
  readonly folder: string;
  /** True if texts that look like keys are masked before they are stored. */
  readonly maskSecrets: boolean;
  /** New names for speakers. */
  readonly renames?: readonly Rename[];
  /** Right answer to the first question, and a function that scores last texts; null if unknown. */
  readonly right: {
    readonly answer: string;
    readonly score: (question: string, text: string) => Promise<number | null>;
  } | null;
  /** Called with the number of stored messages. */
  readonly onMessage?: (count: number) => void;
}

interface Episode {
  readonly name: string;
  readonly question: string;
  /** Null until the first message is stored. */
  rows: EpisodeRows | null;
  score: number | null;
  /** Text of the last message. */
  last: string;
}

const FORMAT = 'the calls of a program';
const FIRST = 'episode 1';

/** The parts of the engine that a recording needs. */
export interface RecordingPlace extends Pick<ImportPlace, 'writing'> {
  readonly storePath: string;
}

/** Formats a call as a line that `c3 import` reads. */
function formatKeptLine(episode: string, speaker: string, { input, output, model }: ModelCall): string {
  const [said] = output;
  const message = { role: 'assistant', name: speaker, content: said?.text ?? '' };
  const messages = withToolNames(input).map(({ role, name, text }) => ({
    role,
    ...(name !== null && { name }),
    content: text,
  }));
  return JSON.stringify({
    id: episode,
    ...(model !== null && { model }),
    request: { messages },
    response: { choices: [{ message, finish_reason: said?.finish === 'length' ? 'length' : 'stop' }] },
  });
}

const countAnswerCharacters = (answer: PassedCall['answer']): number =>
  typeof answer === 'string' ? answer.length : answer.reduce((sum, { length }) => sum + length, 0);
const parseStreamBody = (piece: string): unknown => bodyIn(piece);

export class Recording {
  readonly run = `recorded-${randomBytes(6).toString('hex')}`;
  private readonly place: RecordingPlace;
  private readonly settings: RecordingSettings;
  private readonly survey: Survey;
  private readonly speakers: CallSpeakers;
  private readonly contexts = new ContextsToStore();
  private readonly models = new Set<string>();
  private readonly said = new Map<string, number>();
  private readonly episodes = new Map<string, Episode>();
  private readonly counts = { messages: 0, events: 0 };
  private rows: LogRows | undefined;
  /** The question of the first episode. */
  private question: string | undefined;
  /** Number of roles in the stored run. */
  private admitted = 0;
  /** Calls that are not stored yet. */
  private readonly kept: KeptCalls;
  private readonly queue: StoreQueue;

  constructor(place: RecordingPlace, settings: RecordingSettings) {
    this.place = place;
    this.settings = settings;
    this.survey = new Survey(settings.renames);
    this.speakers = new CallSpeakers(this.survey);
    this.kept = new KeptCalls(join(dirname(place.storePath), `${this.run.replace('recorded', 'recording')}.jsonl`));
    this.queue = new StoreQueue(place, this.kept, () => {
      // If the recording is cut off later, everything stored so far is a complete run.
      this.rows?.done(new Date().toISOString());
    });
  }

  /**
   * Records a call.
   * @returns a promise that resolves once the call is stored. If the store is busy, it resolves
   *   after a short wait, and the call is stored when the store is free.
   */
  take({ api, episode, role, request, answer, times, otherwise }: PassedCall): Promise<void> {
    const said = readApiCall(
      api,
      bodyIn(request),
      typeof answer === 'string' ? bodyIn(answer) : answer.map(parseStreamBody),
    );
    if (said === null) {
      this.leaveOut(otherwise);
      return Promise.resolve();
    }
    this.leaveOut(FURTHER_ANSWERS, said.furtherChoices);
    const call = this.cleanCall(said);
    const speaker = this.speakers.of(role === null ? null : toOneLine(this.clean(role), MOST_NAME), call.input);
    const of = this.episodeOf(this.episodeNamed(episode), withToolNames(call.input));
    this.queue.add({
      write: (store) => this.add(store, of, speaker, { call, times }),
      line: () => formatKeptLine(of.name, speaker, call),
      size: request.length + countAnswerCharacters(answer),
    });
    return this.queue.settledSoon();
  }

  /** Counts calls or spans of the program that were not stored. */
  leaveOut(reason: string, count = 1): void {
    this.survey.leaveOut(this.settings.maskSecrets ? maskText(reason).text : reason, count);
  }

  /**
   * Sets the score of an episode.
   * @returns false if no such episode was recorded or it already has a score
   */
  score(episode: string | null, value: number): boolean {
    const found = this.episodes.get(this.episodeNamed(episode));
    if (found?.score !== null) {
      return false;
    }
    found.score = value;
    return true;
  }

  /** Error in the new names of speakers, or null. Valid once all calls are recorded. */
  get renameFault(): string | null {
    return this.survey.renameFault;
  }

  /** True if no call was recorded. */
  get isEmpty(): boolean {
    return this.episodes.size === 0;
  }

  /**
   * Ends the recording.
   * @param signal after it aborts, the recording waits only a few seconds more for a store that
   *   another process writes
   * @throws C3Error('store') if something could not be stored. It is then in a file; what was
   *   stored before stays.
   */
  async close(signal = NEVER): Promise<LogImport> {
    const [late, release] = delayAbort(signal, GIVE_UP);
    const letGo = onAbort(late, () => this.queue.giveUp());
    try {
      await this.queue.settled();
      await this.scoreByAnswer();
      await this.end(late);
    } finally {
      release();
      letGo();
      this.kept.close();
    }
    const { run, survey, said, episodes, counts, settings, contexts } = this;
    survey.leaveOut('beginnings of contexts that are longer than is stored', contexts.shortened);
    return {
      run,
      known: false,
      format: FORMAT,
      episodes: episodes.size,
      ...counts,
      scored: [...episodes.values()].filter(({ score }) => score !== null).length,
      speakers: [...survey.speakers].map(([name, by]) => ({ name, by, messages: said.get(name) ?? 0 })),
      leftOut: Object.fromEntries(survey.leftOut),
      masked: settings.maskSecrets ? survey.masked : null,
    };
  }

  /** Stores the ends of the episodes. @throws C3Error if not everything is stored */
  private async end(signal: AbortSignal): Promise<void> {
    const { queue, rows, episodes, kept } = this;
    let { failure } = queue;
    if (failure === null && rows !== undefined) {
      try {
        await this.place.writing('recording', signal, (store) => {
          store.transaction(() => {
            rows.through(store);
            for (const episode of episodes.values()) {
              episode.rows?.end(episode.score);
            }
            rows.done(new Date().toISOString());
          });
        });
      } catch (error) {
        failure = toStoreFailure(error);
      }
    }
    if (failure !== null) {
      await this.markFailed();
      const scored = [...episodes.values()].filter(({ score }) => score !== null).length;
      throw kept.failure(failure, 'call', scored === 0 ? [] : [`Lost: ${formatCounted(scored, 'score')} of episodes.`]);
    }
  }

  /** Marks the run as failed, if the store can be written. */
  private async markFailed(): Promise<void> {
    if (!this.queue.hasStored) {
      return;
    }
    const [late, release] = delayAbort(AbortSignal.abort(), SOON);
    try {
      await this.place.writing('recording', late, (store) =>
        store.updateRunStatus(this.run, 'failed', new Date().toISOString(), null),
      );
    } catch {
      // The recording reports its own error.
    } finally {
      release();
    }
  }

  /** Scores the episodes that the program did not score, if the answer to their question is known. */
  private async scoreByAnswer(): Promise<void> {
    const { right } = this.settings;
    for (const episode of right === null ? [] : this.episodes.values()) {
      if (episode.question !== this.question) {
        this.leaveOut('scores of episodes with another question than the first, whose answer is not known');
      } else {
        episode.score ??= (await right?.score(episode.question, episode.last)) ?? null;
      }
    }
  }

  /** Returns the stored name of an episode. Calls with the same name belong to the same episode. */
  private episodeNamed(name: string | null): string {
    return name === null ? FIRST : this.settings.maskSecrets ? maskText(name).text : name;
  }

  /** Masks the keys in a call. Needs the whole call: a key may be split over two pieces of a stream. */
  private cleanCall(call: ModelCall): ModelCall {
    if (!this.settings.maskSecrets) {
      return call;
    }
    const cleanMessage = (message: ParsedMessage): ParsedMessage => ({
      ...message,
      text: this.clean(message.text),
      spoken: maskText(message.spoken).text,
      name: message.name === null ? null : this.clean(message.name),
      calls: new Map([...message.calls].map(([id, tool]) => [id, maskText(tool).text])),
    });
    return {
      ...call,
      input: call.input.map(cleanMessage),
      output: call.output.map(cleanMessage),
      model: call.model === null ? null : this.clean(call.model),
    };
  }

  private clean(text: string): string {
    if (!this.settings.maskSecrets) {
      return text;
    }
    const cleaned = maskText(text);
    this.survey.masked += cleaned.count;
    return cleaned.text;
  }

  /** Returns the episode of a name. Its first call creates it. */
  private episodeOf(name: string, context: readonly ParsedMessage[]): Episode {
    let episode = this.episodes.get(name);
    if (episode === undefined) {
      const question = findQuestion(context);
      this.question ??= question;
      episode = { name, question, rows: null, score: null, last: '' };
      this.episodes.set(name, episode);
    }
    return episode;
  }

  private add(
    store: StoreWriter,
    episode: Episode,
    speaker: string,
    { call, times }: { readonly call: ModelCall; readonly times: CallTimes },
  ): void {
    const { said, results: within } = joinAnswerPieces(call.output);
    if (said === null) {
      return;
    }
    const rows = this.rowsIn(store, call.model);
    const context = withToolNames(call.input);
    const results: readonly RecordedEvent[] = episode.rows === null ? [] : newResults(context);
    episode.rows ??= rows.episode(this.about(episode));
    const message: RecordedMessage = {
      kind: 'message',
      speaker,
      context: ownContext(context.map(toChatMessage)),
      text: said.text,
      model: call.model,
      promptTokens: call.promptTokens,
      completionTokens: call.completionTokens,
      measured: { ...times, cost: call.measures?.cost ?? null, temperature: call.measures?.temperature ?? null },
      finish: said.finish,
    };
    // Results of the server's own tools come after the answer that called the tools.
    const after = within.map(({ name, answers, text }): RecordedEvent => ({
      kind: 'event',
      source: name ?? said.calls.get(answers ?? '') ?? 'tool',
      text,
    }));
    for (const entry of [...results, message, ...after]) {
      episode.rows.add(this.contexts.entry(entry));
    }
    // Reasoning does not count as an answer if there is other text.
    episode.last = said.spoken === '' ? said.text : said.spoken;
    this.counts.events += results.length + after.length;
    this.counts.messages++;
    this.settings.onMessage?.(this.counts.messages);
    this.said.set(speaker, (this.said.get(speaker) ?? 0) + 1);
  }

  private about({ name, question }: Episode): {
    readonly id: string;
    readonly question: string;
    readonly answer: string;
  } {
    const answer = question === this.question ? (this.settings.right?.answer ?? '') : '';
    return { id: `${this.run} ${toOneLine(name, MOST_NAME)}`, question, answer };
  }

  /** Returns the rows of the run with all speakers so far. The first call creates the run. */
  private rowsIn(store: StoreWriter, model: string | null): LogRows {
    if (model !== null) {
      this.models.add(model);
    }
    const { run, survey, settings, models } = this;
    const { program, folder } = settings;
    const title = `Recorded from ${toOneLine(program, MOST_NAME)}`;
    const speakers = [...survey.speakers.keys()];
    const about: LogRun = { id: run, source: program, folder, title, speakers, models: [...models] };
    if (this.rows === undefined) {
      this.rows = new LogRows(store, about, createMemoryCounter());
      this.rows.begin(about, new Date().toISOString());
    } else {
      this.rows.through(store);
      if (speakers.length > this.admitted) {
        this.rows.admit(about);
      }
    }
    this.admitted = speakers.length;
    return this.rows;
  }
}
