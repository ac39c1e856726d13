/** Calls that pass by, stored as an imported run while they happen: one episode, or one for each name that is given. */
import { randomBytes } from 'node:crypto';
import { apiCall, bodyIn, type RecordedApi } from '../../chat/apiCalls.ts';
import { CallSpeakers } from '../../logs/callSpeakers.ts';
import { chatOnly, questionOf, withToolNames, type ParsedMessage } from '../../chat/messages.ts';
import { Survey, type RecordedEvent, type RecordedMessage } from '../../logs/episode.ts';
import { masked } from '../../logs/secrets.ts';
import type { ModelCall } from '../../chat/modelCall.ts';
import { newResults } from '../../logs/traces.ts';
import { NEVER } from '../../shared/cancellation.ts';
import type { LogImport } from '../../shared/records/logImport.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import type { StoreWriter } from '../../store/types.ts';
import { ContextTexts } from '../exchange/contextTexts.ts';
import type { ImportPlace } from '../exchange/importLog.ts';
import { countInMemory, LogRows, MOST_NAME, type EpisodeRows, type LogRun } from '../exchange/logRows.ts';

/** A call as it passed by. */
export interface PassedCall {
  readonly api: RecordedApi;
  /** Names that the program gave; null where it gave none. */
  readonly episode: string | null;
  readonly role: string | null;
  readonly request: string;
  /** The whole answer, or the pieces of a stream in order. */
  readonly answer: string | readonly string[];
  /** Why it is left out where its answer says nothing whole. */
  readonly otherwise: string;
}

export interface RecordingSettings {
  /** How the program is called in titles. */
  readonly program: string;
  readonly folder: string;
  /** Whether texts that look like keys are masked in what is stored. */
  readonly maskSecrets: boolean;
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
/** Milliseconds that an answer waits to be stored before its end is passed on. */
const SOON = 1000;

const bodyOf = (piece: string): unknown => bodyIn(piece);

export class Recording {
  readonly run = `recorded-${randomBytes(6).toString('hex')}`;
  private readonly place: Pick<ImportPlace, 'writing'>;
  private readonly settings: RecordingSettings;
  private readonly survey = new Survey();
  private readonly speakers = new CallSpeakers(this.survey);
  private readonly contexts = new ContextTexts();
  private readonly models = new Set<string>();
  private readonly said = new Map<string, number>();
  private readonly episodes = new Map<string, Episode>();
  private readonly counts = { messages: 0, events: 0 };
  private rows: LogRows | undefined;
  /** The question of the first episode. */
  private question: string | undefined;
  /** Roles that the stored run knows. */
  private admitted = 0;
  private waiting: ((store: StoreWriter) => void)[] = [];
  private writing: Promise<void> | null = null;
  private failure: Error | null = null;
  /** Whether somebody has waited for the store in vain. */
  private isLate = false;

  constructor(place: Pick<ImportPlace, 'writing'>, settings: RecordingSettings) {
    this.place = place;
    this.settings = settings;
  }

  /**
   * Takes in a call.
   * @returns what resolves once it is stored, or soon where the store is busy: it is stored as soon as that is free
   */
  take({ api, episode, role, request, answer, otherwise }: PassedCall): Promise<void> {
    const said = apiCall(api, bodyIn(request), typeof answer === 'string' ? bodyIn(answer) : answer.map(bodyOf));
    if (said === null) {
      this.leaveOut(otherwise);
      return Promise.resolve();
    }
    const call = this.cleanCall(said);
    const speaker = this.speakers.of(role === null ? null : oneLine(this.clean(role), MOST_NAME), call.input);
    const of = this.episodeOf(this.episodeNamed(episode), withToolNames(call.input));
    this.store((store) => {
      this.add(store, of, speaker, call);
    });
    return this.storedSoon();
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

  /** Whether nothing was taken in. */
  get isEmpty(): boolean {
    return this.episodes.size === 0;
  }

  /** Resolves once all that was taken in so far is stored. */
  async settled(): Promise<void> {
    await this.writing;
  }

  /** Resolves as `settled`, or after a while where the store is busy: nobody waits for the same store twice. */
  private async storedSoon(): Promise<void> {
    if (this.writing === null || this.isLate) {
      return;
    }
    const late = Promise.withResolvers<true>();
    const timer = setTimeout(() => {
      late.resolve(true);
    }, SOON);
    this.isLate = (await Promise.race([this.writing, late.promise])) === true;
    clearTimeout(timer);
  }

  /**
   * Ends the recording.
   * @throws C3Error('store') where something could not be stored; what was stored before stays
   */
  async close(): Promise<LogImport> {
    await this.settled();
    await this.scoreByAnswer();
    this.store((store) => {
      this.rows?.through(store);
      for (const { rows, score } of this.episodes.values()) {
        rows?.end(score);
      }
    });
    await this.settled();
    if (this.failure !== null) {
      throw this.failure;
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

  /** What arrives while the store is busy is stored together. A failure ends the recording, never the program. */
  private store(work: (store: StoreWriter) => void): void {
    this.waiting.push(work);
    this.writing ??= this.pump().finally(() => {
      this.writing = null;
      this.isLate = false;
    });
  }

  private async pump(): Promise<void> {
    while (this.waiting.length > 0 && this.failure === null) {
      const works = this.waiting;
      this.waiting = [];
      try {
        await this.place.writing('recording', NEVER, (store) => {
          store.transaction(() => {
            for (const work of works) {
              work(store);
            }
            // A recording that is cut off is whole as far as it came.
            this.rows?.done(new Date().toISOString());
          });
        });
      } catch (error) {
        this.failure = error instanceof Error ? error : new Error(String(error));
      }
    }
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

  private add(store: StoreWriter, episode: Episode, speaker: string, call: ModelCall): void {
    const [said] = call.output;
    if (said === undefined) {
      return;
    }
    const rows = this.rowsIn(store, call.model);
    const context = withToolNames(call.input);
    const results: readonly RecordedEvent[] = episode.rows === null ? [] : newResults(context);
    episode.rows ??= rows.episode(this.about(episode));
    const message: RecordedMessage = {
      kind: 'message',
      speaker,
      context: context.map(chatOnly),
      text: said.text,
      model: call.model,
      promptTokens: call.promptTokens,
      completionTokens: call.completionTokens,
      finish: said.finish,
    };
    for (const entry of [...results, message]) {
      episode.rows.add(entry);
    }
    episode.last = said.text;
    this.counts.events += results.length;
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
      this.rows = new LogRows(store, about, this.contexts, countInMemory());
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
