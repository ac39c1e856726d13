/** Calls that pass by, stored as an imported run while they happen: one episode, or one for each name that is given. */
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { FURTHER } from '../../chat/answers.ts';
import { apiCall, bodyIn, type RecordedApi } from '../../chat/apiCalls.ts';
import { answerOf, chatOnly, questionOf, withToolNames, type ParsedMessage } from '../../chat/messages.ts';
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
import { masked } from '../../logs/secrets.ts';
import { newResults } from '../../logs/traces.ts';
import { NEVER, onAbort } from '../../shared/cancellation.ts';
import { MOST_NAME, type Rename } from '../../shared/speakerNames.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import { counted } from '../../shared/text/words.ts';
import type { StoreWriter } from '../../store/types.ts';
import { ContextsToStore } from '../exchange/contextTexts.ts';
import type { ImportPlace } from '../exchange/importLog.ts';
import { countInMemory, LogRows, type EpisodeRows, type LogRun } from '../exchange/logRows.ts';
import { KeptCalls } from './keptCalls.ts';
import { failureOf, GIVE_UP, patiently, SOON, StoreQueue } from './storeQueue.ts';

export type CallTimes = Pick<RecordedMeasures, 'start' | 'seconds' | 'firstTokenSeconds'>;

/** A call as it passed by. */
export interface PassedCall {
  readonly api: RecordedApi;
  /** Names that the program gave; null where it gave none. */
  readonly episode: string | null;
  readonly role: string | null;
  readonly request: string;
  /** The whole answer, or the pieces of a stream in order. */
  readonly answer: string | readonly string[];
  /** When it was asked, in milliseconds since 1970, and the seconds to its first words and its end, where known. */
  readonly times: CallTimes;
  /** Why it is left out where its answer says nothing whole. */
  readonly otherwise: string;
}

export interface RecordingSettings {
  /** How the program is called in titles. */
  readonly program: string;
  readonly folder: string;
  /** Whether texts that look like keys are masked in what is stored. */
  readonly maskSecrets: boolean;
  /** Other names for speakers; none unless given. */
  readonly renames?: readonly Rename[];
  /** What is right for the first question, and what an episode that ended with a text scores; null where unknown. */
  readonly right: {
    readonly answer: string;
    readonly score: (question: string, text: string) => Promise<number | null>;
  } | null;
  /** Hears how many messages are stored. */
  readonly onMessage?: (count: number) => void;
}

interface Episode {
  readonly name: string;
  readonly question: string;
  /** Its rows, once the first message is stored. */
  rows: EpisodeRows | null;
  score: number | null;
  /** What was said last. */
  last: string;
}

const FORMAT = 'the calls of a program';
const FIRST = 'episode 1';

/** What a recording needs of the engine. */
export interface RecordingPlace extends Pick<ImportPlace, 'writing'> {
  readonly storePath: string;
}

/** A call as a line that `c3 import` reads. */
function keptLine(episode: string, speaker: string, { input, output, model }: ModelCall): string {
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

const lengthOf = (answer: PassedCall['answer']): number =>
  typeof answer === 'string' ? answer.length : answer.reduce((sum, { length }) => sum + length, 0);
const bodyOf = (piece: string): unknown => bodyIn(piece);

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
  /** Roles that the stored run knows. */
  private admitted = 0;
  /** What is not stored yet. */
  private readonly kept: KeptCalls;
  private readonly queue: StoreQueue;

  constructor(place: RecordingPlace, settings: RecordingSettings) {
    this.place = place;
    this.settings = settings;
    this.survey = new Survey(settings.renames);
    this.speakers = new CallSpeakers(this.survey);
    this.kept = new KeptCalls(join(dirname(place.storePath), `${this.run.replace('recorded', 'recording')}.jsonl`));
    this.queue = new StoreQueue(place, this.kept, () => {
      // A recording that is cut off is whole as far as it came.
      this.rows?.done(new Date().toISOString());
    });
  }

  /**
   * Takes in a call.
   * @returns what resolves once it is stored, or soon where the store is busy: it is stored as soon as that is free
   */
  take({ api, episode, role, request, answer, times, otherwise }: PassedCall): Promise<void> {
    const said = apiCall(api, bodyIn(request), typeof answer === 'string' ? bodyIn(answer) : answer.map(bodyOf));
    if (said === null) {
      this.leaveOut(otherwise);
      return Promise.resolve();
    }
    this.leaveOut(FURTHER, said.furtherChoices);
    const call = this.cleanCall(said);
    const speaker = this.speakers.of(role === null ? null : oneLine(this.clean(role), MOST_NAME), call.input);
    const of = this.episodeOf(this.episodeNamed(episode), withToolNames(call.input));
    this.queue.add({
      write: (store) => this.add(store, of, speaker, { call, times }),
      line: () => keptLine(of.name, speaker, call),
      size: request.length + lengthOf(answer),
    });
    return this.queue.settledSoon();
  }

  /** Notes what of the program was not stored. */
  leaveOut(reason: string, count = 1): void {
    this.survey.leaveOut(this.settings.maskSecrets ? masked(reason).text : reason, count);
  }

  /** Takes in what an episode scored. @returns false where no such episode was recorded, or it has a score */
  score(episode: string | null, value: number): boolean {
    const found = this.episodes.get(this.episodeNamed(episode));
    if (found?.score !== null) {
      return false;
    }
    found.score = value;
    return true;
  }

  /** What is wrong with the new names of speakers, once all have spoken; null for nothing. */
  get renameFault(): string | null {
    return this.survey.renameFault;
  }

  /** Whether nothing was taken in. */
  get isEmpty(): boolean {
    return this.episodes.size === 0;
  }

  /**
   * Ends the recording.
   * @param signal once it has aborted, a store that another process writes is not waited for much longer
   * @throws C3Error('store') where something could not be stored, which is in a file then; what was stored before stays
   */
  async close(signal = NEVER): Promise<LogImport> {
    const [late, release] = patiently(signal, GIVE_UP);
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

  /** Stores how the episodes ended. @throws C3Error where not all is stored */
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
        failure = failureOf(error);
      }
    }
    if (failure !== null) {
      await this.markFailed();
      const scored = [...episodes.values()].filter(({ score }) => score !== null).length;
      throw kept.failure(failure, 'call', scored === 0 ? [] : [`Lost: ${counted(scored, 'score')} of episodes.`]);
    }
  }

  /** Says of a run that it is not whole, where the store lets it. */
  private async markFailed(): Promise<void> {
    if (!this.queue.hasStored) {
      return;
    }
    const [late, release] = patiently(AbortSignal.abort(), SOON);
    try {
      await this.place.writing('recording', late, (store) =>
        store.updateRunStatus(this.run, 'failed', new Date().toISOString(), null),
      );
    } catch {
      // The error of the recording says it.
    } finally {
      release();
    }
  }

  /** Scores the episodes of the question whose answer is known, where the program did not. */
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

  /** What an episode is called that a program names; one name is one episode, however often it comes. */
  private episodeNamed(name: string | null): string {
    return name === null ? FIRST : this.settings.maskSecrets ? masked(name).text : name;
  }

  /** A call with its keys masked. It is whole by now: a key may come in two pieces of a stream. */
  private cleanCall(call: ModelCall): ModelCall {
    if (!this.settings.maskSecrets) {
      return call;
    }
    const cleanMessage = (message: ParsedMessage): ParsedMessage => ({
      ...message,
      text: this.clean(message.text),
      spoken: masked(message.spoken).text,
      name: message.name === null ? null : this.clean(message.name),
      calls: new Map([...message.calls].map(([id, tool]) => [id, masked(tool).text])),
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
    const cleaned = masked(text);
    this.survey.masked += cleaned.count;
    return cleaned.text;
  }

  /** The episode of a name, which begins with its first call. */
  private episodeOf(name: string, context: readonly ParsedMessage[]): Episode {
    let episode = this.episodes.get(name);
    if (episode === undefined) {
      const question = questionOf(context);
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
    const { said, results: within } = answerOf(call.output);
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
      context: ownContext(context.map(chatOnly)),
      text: said.text,
      model: call.model,
      promptTokens: call.promptTokens,
      completionTokens: call.completionTokens,
      measured: { ...times, cost: call.measures?.cost ?? null, temperature: call.measures?.temperature ?? null },
      finish: said.finish,
    };
    // What tools of the server gave while it answered comes after the answer that called them.
    const after = within.map(({ name, answers, text }): RecordedEvent => ({
      kind: 'event',
      source: name ?? said.calls.get(answers ?? '') ?? 'tool',
      text,
    }));
    for (const entry of [...results, message, ...after]) {
      episode.rows.add(this.contexts.entry(entry));
    }
    // Reasoning alone is no answer.
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
    return { id: `${this.run} ${oneLine(name, MOST_NAME)}`, question, answer };
  }

  /** The rows of the run, which begins with its first call, and knows all who spoke so far. */
  private rowsIn(store: StoreWriter, model: string | null): LogRows {
    if (model !== null) {
      this.models.add(model);
    }
    const { run, survey, settings, models } = this;
    const { program, folder } = settings;
    const title = `Recorded from ${oneLine(program, MOST_NAME)}`;
    const speakers = [...survey.speakers.keys()];
    const about: LogRun = { id: run, source: program, folder, title, speakers, models: [...models] };
    if (this.rows === undefined) {
      this.rows = new LogRows(store, about, countInMemory());
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
