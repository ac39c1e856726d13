/** A store with a small run in it: two plans with actors under each, an evaluation, and one replay request. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Phase } from '../../../src/domain/episode.ts';
import type { NewMessage } from '../../../src/domain/message.ts';
import type { Problem } from '../../../src/domain/problem.ts';
import type { Ledger } from '../../../src/domain/run.ts';
import type { StepMetrics } from '../../../src/domain/step.ts';
import { openStoreForWriting, type StoreWriter } from '../../../src/store/write/writer.ts';
import { hashContext } from '../../../src/team/contextKey.ts';

export const RUN = 'run-1';
const SNAPSHOT = 'a'.repeat(64);

export const LEDGER: Ledger = {
  evaluatorCalls: 0,
  tokens: { prompt: 0, reused: 0, completion: 0 },
  decisions: {},
  seconds: 0,
};
export const METRICS: StepMetrics = {
  meanReturn: 0.5,
  loss: 0.1,
  kl: 0.001,
  clipFraction: 0.02,
  gradientNorm: 1,
  learningRate: 3e-4,
  ratioDeviation: 0,
  creditVariance: 0.2,
  generateSeconds: 2,
  trainSeconds: 1,
};

/** A problem whose question holds its number. */
export function problem(number: number): Problem {
  return {
    uid: `q${number}`,
    uidSha: String(number).padStart(64, '0'),
    question: `Question ${number}: what is ${number} + 1?`,
    answer: String(number + 1),
    source: 'fixture',
    level: 1,
  };
}

/** Makes a folder with an empty store; `remove` closes and deletes both. */
export function temporaryStore(): { readonly path: string; readonly writer: StoreWriter; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'c3-store-'));
  const path = join(folder, 'c3.sqlite');
  const writer = openStoreForWriting(path);
  return {
    path,
    writer,
    remove: () => {
      writer.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A run with one snapshot. */
export function addRun(writer: StoreWriter, id = RUN, createdAt = '2026-01-02T03:04:05.000Z'): void {
  writer.insertRun({ id, method: 'c3', seed: 7, title: `Run ${id}`, config: '{}', plannedSteps: 3, createdAt });
  writer.insertSnapshot({ id: SNAPSHOT, run: id, iteration: 0, base: SNAPSHOT, file: null });
}

/** Three tokens; others for another text. */
export function tokensOf(text: string): Int32Array {
  const sum = Array.from(text, (character) => character.codePointAt(0) ?? 0).reduce(
    (total, code) => (total * 31 + code) % 1_000_003,
    7,
  );
  return Int32Array.from([1, sum, text.length]);
}

interface MessageParts {
  readonly run?: string;
  readonly phase?: Phase;
  readonly iteration: number;
  readonly problem: Problem;
  readonly role: string;
  readonly position: number;
  readonly parent: number | null;
  readonly bucket: number | null;
  readonly index: number;
  readonly text: string;
}

/** Appends one message; its context is its role and its parent. */
export function addMessage(writer: StoreWriter, parts: MessageParts): number {
  const context = `${parts.role} of ${parts.problem.uid} after ${String(parts.parent)}`;
  const message: NewMessage = {
    run: parts.run ?? RUN,
    phase: parts.phase ?? 'train',
    iteration: parts.iteration,
    problem: parts.problem.uidSha,
    snapshot: SNAPSHOT,
    environment: writer.environmentId({
      runtime: 'onnxruntime 1',
      provider: 'cpu',
      device: 'test',
      threads: 1,
      platform: 'test',
    }),
    role: parts.role,
    turn: 0,
    position: parts.position,
    parent: parts.parent,
    bucket: parts.bucket,
    siblingIndex: parts.index,
    context,
    contextKey: hashContext(context).key,
    text: parts.text,
    tokens: tokensOf(parts.text),
    logprobs: Float32Array.from([0, 0, 0]),
    streamKey: 'k',
    sampling: { temperature: 1, topP: 1, topK: 0, maxNewTokens: 8 },
    finish: 'end',
    promptTokens: 3,
    reusedTokens: 0,
  };
  return writer.insertMessage(message);
}

interface TreeParts {
  readonly run?: string;
  readonly phase?: Phase;
  readonly iteration: number;
  readonly problem: Problem;
  /** Returns of the actors under each plan; null is masked. */
  readonly returns: readonly (readonly (number | null)[])[];
  /** The words of plan j and of actor k under it. */
  readonly words?: (plan: number, actor: number | null) => string;
}

/** Appends plans, actors and episodes of one problem; returns the ids of the plans with those of their actors. */
export function addTree(
  writer: StoreWriter,
  parts: TreeParts,
): readonly { readonly plan: number; readonly actors: readonly number[] }[] {
  const { run = RUN, phase = 'train', iteration, returns } = parts;
  const words =
    parts.words ??
    ((plan: number, actor: number | null) => (actor === null ? `plan ${plan}` : `answer ${plan}.${actor}`));
  writer.insertProblems([parts.problem]);
  return writer.transaction(() => {
    const bucket = phase === 'train' ? bucketOf(writer, run, parts, 'reasoner', null) : null;
    return returns.map((leaves, j) => {
      const plan = addMessage(writer, {
        run,
        phase,
        iteration,
        problem: parts.problem,
        role: 'reasoner',
        position: 0,
        parent: null,
        bucket,
        index: j,
        text: words(j, null),
      });
      const actorBucket = phase === 'train' ? bucketOf(writer, run, parts, 'actor', plan) : null;
      const actors = leaves.map((value, k) => {
        const actor = addMessage(writer, {
          run,
          phase,
          iteration,
          problem: parts.problem,
          role: 'actor',
          position: 1,
          parent: plan,
          bucket: actorBucket,
          index: k,
          text: words(j, k),
        });
        writer.insertEpisode({
          run,
          phase,
          iteration,
          problem: parts.problem.uidSha,
          leaf: actor,
          return: value,
          rule: 'exact',
          evaluatorCalls: 1,
        });
        return actor;
      });
      return { plan, actors };
    });
  });
}

function bucketOf(writer: StoreWriter, run: string, parts: TreeParts, role: string, parent: number | null): number {
  const context = `${role} of ${parts.problem.uid} after ${String(parent)}`;
  return writer.insertBucket({
    run,
    origin: 'training',
    iteration: parts.iteration,
    problem: parts.problem.uidSha,
    role,
    turn: 0,
    contextKey: hashContext(context).key,
    snapshot: SNAPSHOT,
    message: null,
  });
}

/**
 * Appends a request bucket for a message: its sampled alternatives, each with one replay that ends in its own message.
 */
export function addRequest(
  writer: StoreWriter,
  message: number,
  texts: readonly string[],
  returns: readonly (number | null)[],
): { readonly bucket: number; readonly alternatives: readonly number[] } {
  const asked = writer.fullMessage(message);
  const iteration = writer.nextRequestNumber(asked.run);
  return writer.transaction(() => {
    const bucket = writer.insertBucket({
      run: asked.run,
      origin: 'request',
      iteration,
      problem: asked.problem,
      role: asked.role,
      turn: 0,
      contextKey: asked.contextKey,
      snapshot: asked.snapshot,
      message,
    });
    writer.insertAlternative(bucket, message, 0, true);
    const alternatives = texts.map((text, index) => {
      const id = addMessageLike(writer, asked, { bucket, iteration, index: index + 1, text });
      const value = returns[index] ?? null;
      writer.insertEpisode({
        run: asked.run,
        phase: 'replay',
        iteration,
        problem: asked.problem,
        leaf: id,
        return: value,
        rule: 'exact',
        evaluatorCalls: 1,
      });
      writer.insertReplay({
        bucket,
        alternative: id,
        replayIndex: 0,
        leaf: id,
        return: value,
        evaluatorCalls: 1,
        tokenHash: 'h',
        environment: asked.environment,
      });
      return id;
    });
    return { bucket, alternatives };
  });
}

/**
 * Appends a request as above; the message itself, which is in no request yet, has what it returned in its own bucket
 * and in the request's: enough for a credit.
 */
export function addComparison(
  writer: StoreWriter,
  message: number,
  own: number,
  texts: readonly string[],
  returns: readonly number[],
): ReturnType<typeof addRequest> {
  return writer.transaction(() => {
    const request = addRequest(writer, message, texts, returns);
    const { environment, bucket } = writer.fullMessage(message);
    for (const at of [bucket ?? request.bucket, request.bucket]) {
      writer.insertReplay({
        bucket: at,
        alternative: message,
        replayIndex: 0,
        leaf: message,
        return: own,
        evaluatorCalls: 0,
        tokenHash: 'h',
        environment,
      });
    }
    return request;
  });
}

function addMessageLike(
  writer: StoreWriter,
  asked: NewMessage,
  parts: { readonly bucket: number; readonly iteration: number; readonly index: number; readonly text: string },
): number {
  const tokens = tokensOf(parts.text);
  const own = {
    bucket: parts.bucket,
    siblingIndex: parts.index,
    text: parts.text,
    tokens,
    logprobs: new Float32Array(tokens.length),
  };
  return writer.insertMessage({ ...asked, phase: 'replay', iteration: parts.iteration, ...own });
}
