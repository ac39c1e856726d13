/**
 * Stage 0 of a replacement (TeamTR reference section 7): the new policy learns to imitate the old one
 * in probe contexts, by gradient steps on
 *
 *   KL(old || new) = mean over messages of the sum over tokens of KL(old || new) at the token
 *
 * along the old policy's messages. The KL at a token is over the whole vocabulary if that is small
 * enough, so that each context shows all that the old policy might say; otherwise it is the estimate
 * k3. In the mean, its gradient is that of the cross-entropy of the two policies. It is 0 for each
 * message on which both policies agree, so that a few messages are not learned by heart. The stage
 * ends when the KL of the held-out probes is at most delta.
 */

import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import { explainNoExactKl } from '../runtime/train/graph/klTerm.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import { measureDivergence } from './divergence.ts';

/** A context with a message of the old policy, and the message's log-probabilities as `behaviour`. */
export type Probe = TrainingContext;

/** One probe in this number is held out, if there are at least this many probes. */
export const HELD_OUT = 5;

export interface AlignSettings {
  /** Snapshot of the team with the old policy, or null if the KL is estimated from the sampled tokens. */
  readonly old: string | null;
  /** The temperature at which the old policy's messages were sampled. */
  readonly temperature: number;
  /** The KL at which the stage ends, in nats. */
  readonly delta: number;
  readonly learningRate: number;
  readonly maxSteps: number;
}

export interface Aligned {
  /** Snapshot of the team with the new policy at its least KL. */
  readonly snapshot: string;
  /** The KL before each step and after the last one. */
  readonly kls: readonly number[];
  /** True if the KL reached delta. */
  readonly met: boolean;
}

/** Probes per optimizer step. The steps take them in order and start over after the last one. */
const TOGETHER = 100;

/** Steps without a new least KL that halve the learning rate. Single steps can make the KL jump. */
const PATIENCE = 10;

/** Returns the value of `old`: the team if its whole vocabulary can be compared, else null. */
export const chooseExactAnchor = (team: string, vocabularySize: number): string | null =>
  explainNoExactKl(vocabularySize) === null ? team : null;

/**
 * Aligns a policy to the old policy's messages in the probes. Changes nothing else of the training
 * state except the optimizer's.
 * @param runtime in training, with the team that has the new policy
 * @throws CancelledError; C3Error
 */
export async function alignPolicy(
  runtime: ModelRuntime,
  probes: readonly Probe[],
  { old, temperature, delta, learningRate, maxSteps }: AlignSettings,
  signal: AbortSignal,
): Promise<Aligned> {
  const several = probes.length >= HELD_OUT;
  const monitored = several ? probes.filter((_, index) => index % HELD_OUT === HELD_OUT - 1) : probes;
  const learned = several ? probes.filter((_, index) => index % HELD_OUT !== HELD_OUT - 1) : probes;
  const kls: number[] = [];
  let best: { readonly snapshot: string; readonly kl: number } | null = null;
  const own = new Set<string>();
  let [rate, since] = [learningRate, 0];
  for (;;) {
    const held = await runtime.snapshots();
    const snapshot = await runtime.freeze();
    if (!held.includes(snapshot)) {
      own.add(snapshot);
    }
    const now = await measureProbeKl(runtime, { old, snapshot, temperature }, monitored, signal);
    kls.push(now);
    since = best === null || now < best.kl ? 0 : since + 1;
    best = best === null || now < best.kl ? { snapshot, kl: now } : best;
    for (const other of [...own].filter((one) => one !== best?.snapshot)) {
      await runtime.releaseSnapshot(other);
      own.delete(other);
    }
    if (now <= delta || kls.length > maxSteps) {
      return { snapshot: best.snapshot, kls, met: best.kl <= delta };
    }
    const kl = { against: 'last', estimator: old === null ? 'k3' : 'exact', fromLast: true } as const;
    const penalty = { policy: { kl }, klCoefficient: 1, ...(old !== null && { anchor: old }) };
    if (since === PATIENCE) {
      [rate, since] = [rate / 2, 0];
    }
    const first = ((kls.length - 1) * TOGETHER) % learned.length;
    const some = [...learned.slice(first), ...learned.slice(0, first)].slice(0, TOGETHER);
    await runtime.step(some, { loss: 'ppo', ...penalty, learningRate: rate, temperature }, signal);
  }
}

/** Returns KL(old || new) of whole messages, in nats. */
async function measureProbeKl(
  runtime: ModelRuntime,
  { old, snapshot, temperature }: { readonly snapshot: string } & Pick<AlignSettings, 'old' | 'temperature'>,
  probes: readonly Probe[],
  signal: AbortSignal,
): Promise<number> {
  const exact = old === null ? null : await runtime.divergence(old, snapshot, probes, temperature, signal);
  const scores = exact === null ? await runtime.score(snapshot, probes, temperature, signal) : null;
  const found = measureDivergence(
    probes.flatMap(({ messages }, index) =>
      messages.map(({ behaviour }, number) => ({
        before: behaviour,
        after: scores?.[index]?.[number] ?? behaviour,
        advantage: 0,
        ...(exact !== null && { exact: exact[index]?.[number] ?? new Float32Array() }),
      })),
    ),
  );
  return found.exact ?? found.k3;
}
