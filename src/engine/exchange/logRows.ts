/**
 * Writes the rows of a log: a run of its own, whose episodes open like any other. Nothing of it can be
 * executed again, because its models are elsewhere.
 */

import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { MAX_EVENT_TEXT, IMPORTED } from '../../domain/episode.ts';
import { RECORDED_ROUND } from '../../domain/evaluation.ts';
import { NOTHING_MEASURED } from '../../domain/message.ts';
import { NOTE_LIMIT } from '../../domain/taxonomy.ts';
import { OTHERS, type RecordedEpisode, type RecordedEvent } from '../../logs/episode.ts';
import { MOST_NAME } from '../../shared/speakerNames.ts';
import { toOneLine } from '../../shared/text/oneLine.ts';
import type { StoreWriter } from '../../store/types.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { configSchema } from '../../training/config/config.ts';
import type { EntryToStore, EpisodeToStore } from './contextTexts.ts';

/** Maximum characters of a model's name. */
const MOST_MODEL = 200;
const ROUND = RECORDED_ROUND.iteration;
const NO_TOKENS = new Int32Array();
const NO_LOGPROBS = new Float32Array();

/** Properties of a log's run, apart from its episodes. */
export interface LogRun {
  readonly id: string;
  /** The file or program that the log came from. */
  readonly source: string;
  readonly folder: string;
  readonly title: string;
  readonly speakers: readonly string[];
  readonly models: readonly string[];
}

/** Counts the episodes of each problem. @returns the number of earlier episodes of this problem */
export type EpisodeCounter = (problem: string) => number;

/** Returns a counter for a small number of problems. */
export function createMemoryCounter(): EpisodeCounter {
  const counts = new Map<string, number>();
  return (problem) => {
    const earlier = counts.get(problem) ?? 0;
    counts.set(problem, earlier + 1);
    return earlier;
  };
}

/** Writes the rows of one log, within transactions of the caller. */
export class LogRows {
  private store: StoreWriter;
  private readonly run: string;
  /** Roles by speaker. */
  private roles: ReadonlyMap<string, string>;
  private positions: ReadonlyMap<string, number>;
  private readonly spoken = new Map<string, number>();
  private readonly tokens = { prompt: 0, reused: 0, completion: 0 };
  private readonly counter: EpisodeCounter;
  private environment = 0;
  /** ISO 8601. */
  private now = '';

  constructor(store: StoreWriter, { id, speakers }: Pick<LogRun, 'id' | 'speakers'>, counter: EpisodeCounter) {
    this.store = store;
    this.counter = counter;
    this.run = id;
    this.roles = nameRoles(speakers);
    this.positions = numberPositions(this.roles);
  }

  /** Uses another writer of the same store from now on. */
  through(store: StoreWriter): void {
    this.store = store;
  }

  /** Writes the run itself. @param now ISO 8601 */
  begin(of: LogRun, now: string): void {
    const { store, run } = this;
    this.now = now;
    const { title, models, source } = of;
    const about = { id: run, method: IMPORTED, seed: 0, title, config: this.config(of), plannedSteps: 0 };
    store.insertRun({ ...about, createdAt: now });
    const model = toOneLine(models.join(', ') || basename(source), 200);
    store.insertSnapshot({ id: IMPORTED, run, iteration: 0, base: model, file: null });
    this.environment = store.environmentId({
      runtime: IMPORTED,
      provider: 'none',
      device: 'none',
      threads: 1,
      platform: 'unknown',
    });
  }

  /** Adds roles for further speakers, after the existing ones. */
  admit(of: LogRun): void {
    this.roles = nameRoles(of.speakers);
    this.positions = numberPositions(this.roles);
    this.store.updateRunConfig(this.run, this.config(of));
  }

  private config({ title, source, folder }: LogRun): string {
    const protocolText = buildLogProtocol([...this.roles.values()]);
    parseProtocol(protocolText, source);
    return JSON.stringify({
      config: configSchema.parse({ title, steps: 0, evaluation: { instances: 0 } }),
      folder,
      modelFolder: `the model of ${basename(source)}, which was not imported`,
      protocolText,
      protocolSource: source,
      fingerprint: null,
    });
  }

  episodes(episodes: Iterable<EpisodeToStore>): void {
    for (const episode of episodes) {
      const rows = this.episode(episode);
      for (const entry of episode.entries) {
        rows.add(entry);
      }
      rows.end(episode.return);
    }
  }

  /** Begins an episode whose entries are written one by one. */
  episode(about: Pick<RecordedEpisode, 'id' | 'question' | 'answer'>): EpisodeRows {
    const problem = this.problem(about);
    const sibling = this.counter(problem);
    return new EpisodeRows(problem, sibling, {
      message: (...given) => this.message(...given),
      events: (...given) => this.events(...given),
      score: (leaf, value) => {
        const at = { run: this.run, phase: 'evaluate', iteration: ROUND, problem, leaf } as const;
        this.store.insertEpisode({ ...at, return: value, rule: IMPORTED, evaluatorCalls: 0 });
      },
    });
  }

  /** Stores the run's summary so far, with the status `done`. */
  done(now: string): void {
    this.store.updateRunStatus(this.run, 'done', now, {
      run: this.run,
      method: IMPORTED,
      seed: 0,
      steps: 0,
      evaluatorCalls: 0,
      tokens: this.tokens,
      decisions: Object.fromEntries(this.spoken),
      accuracy: { before: null, after: null, difference: null },
      passAt1: { before: null, after: null, difference: null },
      seconds: 0,
      store: this.store.path,
    });
  }

  /** Stores a separate problem from one that has a gold answer: one question has one answer in a store. */
  private problem({ id, question, answer }: Pick<RecordedEpisode, 'id' | 'question' | 'answer'>): string {
    const uidSha = hash('sha256', JSON.stringify([IMPORTED, question, answer]));
    this.store.insertProblems([{ uid: id.slice(0, 200), uidSha, question, answer, source: IMPORTED, level: null }]);
    return uidSha;
  }

  private message(
    { speaker, context, text, model, promptTokens, completionTokens, measured, finish, mark }: MessageToStore,
    place: LogPlace,
  ): number {
    const role = this.roles.get(speaker) ?? OTHERS;
    this.spoken.set(role, (this.spoken.get(role) ?? 0) + 1);
    this.tokens.prompt += promptTokens;
    this.tokens.completion += completionTokens;
    const id = this.store.insertMessage({
      run: this.run,
      phase: 'evaluate',
      iteration: ROUND,
      problem: place.problem,
      snapshot: IMPORTED,
      environment: this.environment,
      role,
      turn: place.turn,
      position: this.positions.get(role) ?? 0,
      parent: place.parent,
      bucket: null,
      siblingIndex: place.sibling,
      context: context.context,
      contextKey: context.key,
      text,
      tokens: NO_TOKENS,
      logprobs: NO_LOGPROBS,
      streamKey: '',
      sampling: { temperature: 0, topP: 0, topK: 0, maxNewTokens: 0 },
      finish,
      promptTokens,
      reusedTokens: 0,
      measured: {
        ...NOTHING_MEASURED,
        model: model === null ? null : toOneLine(model, MOST_MODEL),
        promptTokens: promptTokens === 0 ? null : promptTokens,
        completionTokens: completionTokens === 0 ? null : completionTokens,
        ...measured,
      },
    });
    if (mark !== undefined) {
      const note = Array.from(mark.note).slice(0, NOTE_LIMIT).join('');
      this.store.insertLabel({
        message: id,
        bucket: null,
        name: mark.name,
        note,
        author: 'the log',
        createdAt: this.now,
      });
    }
    return id;
  }

  private events(events: readonly RecordedEvent[], { message, side, parent }: EventsPlace): void {
    let previous: number | null = null;
    for (const { source, text } of events) {
      previous = this.store.insertEnvironmentEvent({
        run: this.run,
        parent,
        previous,
        event: {
          kind: 'environment',
          source: toOneLine(source, MOST_NAME),
          text: text.length > MAX_EVENT_TEXT ? `${text.slice(0, MAX_EVENT_TEXT - 1)}\u2026` : text,
          json: { recorded: true },
          done: null,
          derived: false,
          streamKey: '',
          closing: false,
        },
        reward: null,
      });
    }
    if (previous !== null) {
      this.store.linkEnvironmentEvent(message, side, previous);
    }
  }
}

type MessageToStore = Extract<EntryToStore, { kind: 'message' }>;

interface LogPlace {
  readonly problem: string;
  readonly parent: number | null;
  readonly turn: number;
  readonly sibling: number;
}

interface EventsPlace {
  readonly message: number;
  readonly side: 'before' | 'after';
  readonly parent: number | null;
}

/** Functions that write the rows of an episode. */
interface EpisodeWriter {
  readonly message: (message: MessageToStore, place: LogPlace) => number;
  readonly events: (events: readonly RecordedEvent[], place: EventsPlace) => void;
  readonly score: (leaf: number, value: number) => void;
}

/** An episode whose entries are added one by one. */
export class EpisodeRows {
  private readonly problem: string;
  private readonly sibling: number;
  private readonly write: EpisodeWriter;
  private readonly turns = new Map<string, number>();
  private parent: number | null = null;
  private waiting: RecordedEvent[] = [];

  constructor(problem: string, sibling: number, write: EpisodeWriter) {
    this.problem = problem;
    this.sibling = sibling;
    this.write = write;
  }

  /** Writes a message with the events before it. An event waits for the next message. */
  add(entry: EntryToStore): void {
    if (entry.kind === 'event') {
      this.waiting.push(entry);
      return;
    }
    const { problem, parent, turns, write } = this;
    const turn = turns.get(entry.speaker) ?? 0;
    turns.set(entry.speaker, turn + 1);
    const id = write.message(entry, { problem, parent, turn, sibling: parent === null ? this.sibling : 0 });
    write.events(this.waiting, { message: id, side: 'before', parent });
    this.waiting = [];
    this.parent = id;
  }

  /** Writes the events after the last message, and the score of the episode. */
  end(score: number | null): void {
    const { parent } = this;
    if (parent !== null) {
      this.write.events(this.waiting, { message: parent, side: 'after', parent });
      this.waiting = [];
      // An episode without a score gets no row: a masked return would say that an evaluator failed.
      if (score !== null) {
        this.write.score(parent, score);
      }
    }
  }
}

const numberPositions = (roles: ReadonlyMap<string, string>): ReadonlyMap<string, number> =>
  new Map([...roles.values()].map((role, index) => [role, index] as const));

/** Returns one name for each speaker that is valid as a role of a protocol. */
function nameRoles(speakers: readonly string[]): ReadonlyMap<string, string> {
  const roles = new Map<string, string>();
  for (const speaker of speakers) {
    const name = toOneLine(speaker, MOST_NAME).replace(/[{}]/gu, '').trim() || 'agent';
    const taken = new Set(['question', ...roles.values()]);
    let role = name;
    for (let number = 2; taken.has(role) || role.endsWith('_output'); number++) {
      role = `${name} ${number}`;
    }
    roles.set(speaker, role);
  }
  return roles;
}

/** Builds a protocol of the speakers, in the order in which they first spoke. Contexts show who sees what. */
const buildLogProtocol = (roles: readonly string[]): string =>
  JSON.stringify({
    name: IMPORTED,
    roles: roles.map((role, index) => ({
      role,
      prompt: 'Imported without its prompt.',
      depends_on: roles.slice(0, index),
      with_answer: index === roles.length - 1,
    })),
  });
