/** From trees to rows: decisions, episodes, buckets, replays and credits, appended in one transaction per call. */
import { createHash } from 'node:crypto';
import type { Credit, NewDecision, Phase } from '../shared/records.ts';
import type { StoreWriter } from '../store/types.ts';
import { tokenHash } from '../store/tokens.ts';
import { occurrenceAt, type Protocol } from '../team/protocol.ts';
import { callsOf, leavesOf, returnOf, type TreeNode } from './tree.ts';

/** What the rows of one round have in common. */
export interface RoundRecord {
  readonly run: string;
  readonly phase: Phase;
  readonly iteration: number;
  readonly snapshot: string;
  readonly environment: number;
  readonly returnBound: number;
}

/** The returns of one alternative, null where masked, and what they cost. */
export interface AlternativeReturns {
  readonly returns: readonly (number | null)[];
  readonly evaluatorCalls: number;
}

/** What the alternatives of a bucket are worth, in order; null where that cannot be said. */
export type CreditRule = (alternatives: readonly AlternativeReturns[]) => readonly (Credit | null)[];

/** One sampling group with what it was found to be worth. */
export interface CreditedGroup {
  readonly nodes: readonly TreeNode[];
  readonly credits: readonly (Credit | null)[];
  readonly bucket: number | null;
}

/** The row of one node. Its parent must be stored. */
export function decisionRow(node: TreeNode, protocol: Protocol, round: RoundRecord, bucket: number | null): NewDecision {
  const occurrence = occurrenceAt(protocol, node.position);
  if (node.parent !== null && node.parent.stored === undefined) throw new Error('A decision is stored after its parent.');
  return {
    run: round.run,
    phase: round.phase,
    iteration: round.iteration,
    instance: node.instance.uidSha,
    snapshot: round.snapshot,
    environment: round.environment,
    eventType: occurrence.role,
    turn: occurrence.turn,
    position: node.position,
    parent: node.parent?.stored ?? null,
    bucket,
    siblingIndex: node.sibling,
    context: node.context,
    contextKey: node.contextKey,
    text: node.answer.text,
    tokens: node.answer.tokens,
    logprobs: node.answer.logprobs,
    streamKey: node.streamKey,
    sampling: node.sampling,
    finish: node.answer.finish,
    promptTokens: node.answer.prompt.length,
    reusedTokens: node.answer.reusedTokens,
  };
}

/** Appends the decisions of a subtree and the episodes at its leaves; no buckets. For evaluations and continuations. */
export function recordSubtree(store: StoreWriter, nodes: readonly TreeNode[], protocol: Protocol, round: RoundRecord): void {
  for (const node of nodes) {
    node.stored ??= store.insertDecision(decisionRow(node, protocol, round, null));
    if (node.children.length === 0) recordEpisode(store, node, round);
    else recordSubtree(store, node.children, protocol, round);
  }
}

/** Appends the episode that ends in a leaf. */
export function recordEpisode(store: StoreWriter, leaf: TreeNode, round: RoundRecord): void {
  if (leaf.stored === undefined) throw new Error('An episode is stored after its leaf.');
  const rules: string[] = [];
  for (let node: TreeNode | null = leaf; node !== null; node = node.parent) if (node.score !== undefined) rules.unshift(node.score.rule);
  store.insertEpisode({
    run: round.run,
    phase: round.phase,
    iteration: round.iteration,
    instance: leaf.instance.uidSha,
    leaf: leaf.stored,
    return: returnOf(leaf, round.returnBound),
    rule: rules.join(', '),
    evaluatorCalls: rules.length,
  });
}

/** SHA-256 over the token hashes of the messages from an alternative to the leaf, in order: what a re-execution must reproduce. */
export function continuationHash(alternative: TreeNode, leaf: TreeNode): string {
  const messages: Int32Array[] = [];
  for (let node: TreeNode | null = leaf; node !== null; node = node === alternative ? null : node.parent) messages.unshift(node.answer.tokens);
  return replayHash(messages);
}

/** The hash of a replay from the tokens of its messages, the alternative's first. */
export function replayHash(messages: readonly Int32Array[]): string {
  return createHash('sha256').update(messages.map(tokenHash).join('\n')).digest('hex');
}

/** Appends one replay of an alternative in a bucket. */
export function recordReplay(store: StoreWriter, bucket: number, alternative: TreeNode, leaf: TreeNode, replayIndex: number, calls: number, round: RoundRecord): void {
  if (alternative.stored === undefined || leaf.stored === undefined) throw new Error('A replay is stored after its decisions.');
  store.insertReplay({
    bucket,
    alternative: alternative.stored,
    replayIndex,
    leaf: leaf.stored,
    return: returnOf(leaf, round.returnBound),
    evaluatorCalls: calls,
    tokenHash: continuationHash(alternative, leaf),
    environment: round.environment,
  });
}

/** Evaluator calls that a leaf added below an alternative; a message scored on the way is counted at the first leaf below it. */
function callsOfLeaf(alternative: TreeNode, leaf: TreeNode): number {
  let calls = 0;
  for (let node = leaf; ; node = node.parent) {
    if (node.score !== undefined) calls++;
    if (node === alternative || node.parent === null || node.parent.children[0] !== node) return calls;
  }
}

/**
 * Appends a training tree: every group of siblings is a bucket, its nodes are the alternatives, the leaves below a node its replays.
 * @returns every group with its credits, parents before children
 */
export function recordTrainingTree(store: StoreWriter, siblings: readonly TreeNode[], protocol: Protocol, round: RoundRecord, rule: CreditRule): CreditedGroup[] {
  const first = siblings[0];
  if (first === undefined) return [];
  const occurrence = occurrenceAt(protocol, first.position);
  const bucket = store.insertBucket({
    run: round.run,
    origin: 'training',
    iteration: round.iteration,
    instance: first.instance.uidSha,
    eventType: occurrence.role,
    turn: occurrence.turn,
    contextKey: first.contextKey,
    snapshot: round.snapshot,
    message: null,
  });
  for (const node of siblings) {
    node.stored = store.insertDecision(decisionRow(node, protocol, round, bucket));
    if (node.children.length === 0) recordEpisode(store, node, round);
  }
  const below = siblings.flatMap((node) => recordTrainingTree(store, node.children, protocol, round, rule));
  const credits = rule(siblings.map((node) => ({ returns: leavesOf(node).map((leaf) => returnOf(leaf, round.returnBound)), evaluatorCalls: callsOf(node) })));
  siblings.forEach((node, index) => {
    leavesOf(node).forEach((leaf, replayIndex) => {
      recordReplay(store, bucket, node, leaf, replayIndex, callsOfLeaf(node, leaf), round);
    });
    const credit = credits[index];
    if (credit !== null && credit !== undefined && node.stored !== undefined) store.insertCredit(bucket, node.stored, credit);
  });
  return [{ nodes: siblings, credits, bucket }, ...below];
}
