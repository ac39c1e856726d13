/**
 * The rows of a log: a run of its own, whose episodes open like any other. Nothing of it can be executed again: the
 * models are elsewhere.
 */
import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { OTHERS, type RecordedEpisode, type RecordedEvent, type RecordedMessage } from '../../logs/episode.ts';
import { MAX_EVENT_TEXT } from '../../shared/records/events.ts';
import { EVALUATION_ROUNDS } from '../../shared/records/evaluationRounds.ts';
import { IMPORTED } from '../../shared/records/logImport.ts';
import { oneLine } from '../../shared/text/oneLine.ts';
import type { StoreWriter } from '../../store/types.ts';
import { contextKey } from '../../team/contextKey.ts';
import { parseProtocol } from '../../team/parseProtocol.ts';
import { configSchema } from '../../training/config/config.ts';
import type { ContextTexts } from './contextTexts.ts';

export const MOST_NAME = 60;
/** Recorded episodes are as an evaluation with sampling before any training. */
const ROUND = EVALUATION_ROUNDS[1].iteration;

/** What is written of a log beside its episodes. */
export interface LogRun {
  readonly id: string;
  readonly path: string;
  readonly speakers: readonly string[];
  readonly models: readonly string[];
}

/** Writes the rows of one log. */
export class LogRows {
  private readonly store: StoreWriter;
  private readonly run: string;
  private readonly contexts: ContextTexts;
  /** Roles by speaker. */
  private readonly roles: ReadonlyMap<string, string>;
  private readonly positions: ReadonlyMap<string, number>;
  private readonly decisions = new Map<string, number>();
  private readonly tokens = { prompt: 0, reused: 0, completion: 0 };
  private environment = 0;

  constructor(store: StoreWriter, { id, speakers }: LogRun, contexts: ContextTexts) {
    this.store = store;
    this.run = id;
    this.contexts = contexts;
    this.roles = rolesOf(speakers);
    this.positions = new Map([...this.roles.values()].map((role, index) => [role, index] as const));
  }

  /** Writes the run with its episodes; to be called in a transaction. @param now ISO 8601 */
  write({ path, models }: LogRun, episodes: Iterable<RecordedEpisode>, now: string): void {
    const { store, run } = this;
    const title = `Imported from ${basename(path)}`.slice(0, 200);
    const protocolText = protocolOf([...this.roles.values()]);
    parseProtocol(protocolText, path);
    const model = oneLine(models.join(', ') || basename(path), 200);
    const config = {
      config: configSchema.parse({ title, steps: 0, evaluation: { instances: 0 } }),
      folder: dirname(path),
      modelFolder: `the model of ${basename(path)}, which was not imported`,
      protocolText,
      protocolSource: path,
      fingerprint: null,
    };
    const about = { id: run, method: IMPORTED, seed: 0, title, config: JSON.stringify(config), plannedSteps: 0 };
    store.insertRun({ ...about, createdAt: now });
    store.insertSnapshot({ id: IMPORTED, run, iteration: 0, base: model, file: null });
    this.environment = store.environmentId({
      runtime: IMPORTED,
      provider: 'none',
      device: 'none',
      threads: 1,
      platform: 'unknown',
    });
    const siblings = new Map<string, number>();
    for (const episode of episodes) {
      const instance = this.instance(episode);
      const sibling = siblings.get(instance) ?? 0;
      siblings.set(instance, sibling + 1);
      this.episode(episode, instance, sibling);
    }
    store.updateRunStatus(run, 'done', now, {
      run,
      method: IMPORTED,
      seed: 0,
      steps: 0,
      evaluatorCalls: 0,
      tokens: this.tokens,
      decisions: Object.fromEntries(this.decisions),
      accuracy: { before: null, after: null, difference: null },
      passAt1: { before: null, after: null, difference: null },
      seconds: 0,
      store: store.path,
    });
  }

  /** Apart from instances that have a gold answer: one question has one answer in a store. */
  private instance({ id, question, answer }: RecordedEpisode): string {
    const uidSha = createHash('sha256')
      .update(JSON.stringify([IMPORTED, question, answer]))
      .digest('hex');
    this.store.insertInstances([{ uid: id.slice(0, 200), uidSha, question, answer, source: IMPORTED, level: null }]);
    return uidSha;
  }

  private episode(episode: RecordedEpisode, instance: string, sibling: number): void {
    const turns = new Map<string, number>();
    let parent: number | null = null;
    let events: RecordedEvent[] = [];
    for (const entry of episode.entries) {
      if (entry.kind === 'event') {
        events.push(entry);
        continue;
      }
      const turn = turns.get(entry.speaker) ?? 0;
      turns.set(entry.speaker, turn + 1);
      const id = this.decision(entry, { instance, parent, turn, sibling: parent === null ? sibling : 0 });
      this.events(events, { decision: id, side: 'before', parent });
      events = [];
      parent = id;
    }
    if (parent !== null) {
      this.events(events, { decision: parent, side: 'after', parent });
      // An episode without a score has none: a masked one would say that an evaluator failed.
      if (episode.return !== null) {
        const at = { run: this.run, phase: 'evaluate', iteration: ROUND, instance, leaf: parent } as const;
        this.store.insertEpisode({ ...at, return: episode.return, rule: IMPORTED, evaluatorCalls: 0 });
      }
    }
  }

  private decision(
    { speaker, context, text, promptTokens, completionTokens, finish }: RecordedMessage,
    place: {
      readonly instance: string;
      readonly parent: number | null;
      readonly turn: number;
      readonly sibling: number;
    },
  ): number {
    const role = this.roles.get(speaker) ?? OTHERS;
    const asked = this.contexts.of(context);
    this.decisions.set(role, (this.decisions.get(role) ?? 0) + 1);
    this.tokens.prompt += promptTokens;
    this.tokens.completion += completionTokens;
    return this.store.insertDecision({
      run: this.run,
      phase: 'evaluate',
      iteration: ROUND,
      instance: place.instance,
      snapshot: IMPORTED,
      environment: this.environment,
      eventType: role,
      turn: place.turn,
      position: this.positions.get(role) ?? 0,
      parent: place.parent,
      bucket: null,
      siblingIndex: place.sibling,
      context: asked,
      contextKey: contextKey(asked).key,
      text,
      tokens: new Int32Array(),
      logprobs: new Float32Array(),
      streamKey: '',
      sampling: { temperature: 0, topP: 0, topK: 0, maxNewTokens: 0 },
      finish,
      promptTokens,
      reusedTokens: 0,
    });
  }

  private events(
    events: readonly RecordedEvent[],
    { decision, side, parent }: { decision: number; side: 'before' | 'after'; parent: number | null },
  ): void {
    let previous: number | null = null;
    for (const { source, text } of events) {
      previous = this.store.insertEnvironmentEvent({
        run: this.run,
        parent,
        previous,
        event: {
          kind: 'environment',
          source: oneLine(source, MOST_NAME),
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
      this.store.linkEnvironmentEvent(decision, side, previous);
    }
  }
}

/** Names that a protocol can have, one for each speaker. */
function rolesOf(speakers: readonly string[]): ReadonlyMap<string, string> {
  const roles = new Map<string, string>();
  for (const speaker of speakers) {
    const name = oneLine(speaker, MOST_NAME).replace(/[{}]/gu, '').trim() || 'agent';
    const taken = new Set(['question', ...roles.values()]);
    let role = name;
    for (let number = 2; taken.has(role) || role.endsWith('_output'); number++) {
      role = `${name} ${String(number)}`;
    }
    roles.set(speaker, role);
  }
  return roles;
}

/** Who speaks, in the order in which they first spoke; who sees what is in each context. */
const protocolOf = (roles: readonly string[]): string =>
  JSON.stringify({
    name: IMPORTED,
    roles: roles.map((role, index) => ({
      role,
      prompt: 'Imported without its prompt.',
      depends_on: roles.slice(0, index),
      with_answer: index === roles.length - 1,
    })),
  });
