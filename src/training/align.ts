/**
 * Stage 0 of a replacement (TeamTR reference section 7): the new policy learns to say what the old one says in probe
 * contexts, by gradient steps on
 *
 *   KL(old || new) = mean over messages of the sum over tokens of KL(old || new) at the token
 *
 * along the old policy's messages: over the whole vocabulary where it is small enough for that, so that each context
 * shows all that the old policy might say; else each token by the estimate k3. Its gradient is that of their
 * cross-entropy in the mean, and 0 for each message where both policies agree, so that few messages are not learned by
 * heart. It ends where the KL of probes that are not learned from is at most delta.
 */
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import { exactFault } from '../runtime/train/graph/klTerm.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import { messageDivergence } from './divergence.ts';

/** A context with the old policy's message in it, and that message's log-probabilities as `behaviour`. */
export type Probe = TrainingContext;

/** One probe of so many is not learned from, where there are as many. */
export const HELD_OUT = 5;

export interface AlignSettings {
  /** The team with the old policy, held by the runtime; null where the KL is estimated from the sampled tokens. */
  readonly old: string | null;
  /** At which the old policy's messages were sampled. */
  readonly temperature: number;
  /** Where the KL is at most this, in nats, it ends. */
  readonly delta: number;
  readonly learningRate: number;
  /** Steps of the optimizer, at most. */
  readonly maxSteps: number;
}

export interface Aligned {
  /** The team with the new policy where its KL was least, held by the runtime. */
  readonly snapshot: string;
  /** The KL before each step, and after the last. */
  readonly kls: readonly number[];
  /** Whether it came to delta. */
  readonly met: boolean;
}

/** Probes of one optimizer step; the next step takes the next ones, and after the last begins again. */
const TOGETHER = 100;

/** After so many steps without a new least KL the learning rate is halved: batches and large steps make it jump. */
const PATIENCE = 10;

/** What `old` is for a model: the team where its vocabulary is small enough to be compared whole, else null. */
export const comparedWhole = (team: string, vocabularySize: number): string | null =>
  exactFault(vocabularySize) === null ? team : null;

/**
 * Aligns the policy of some probes; nothing else of the training state changes but its optimizer's.
 * @param runtime in training, of the team with the new policy
 * @throws CancelledError; C3Error
 */
export async function aligned(
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
    const now = await klOf(runtime, { old, snapshot, temperature }, monitored, signal);
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

/** KL(old || new) of whole messages, in nats. */
async function klOf(
  runtime: ModelRuntime,
  { old, snapshot, temperature }: { readonly snapshot: string } & Pick<AlignSettings, 'old' | 'temperature'>,
  probes: readonly Probe[],
  signal: AbortSignal,
): Promise<number> {
  const exact = old === null ? null : await runtime.divergence(old, snapshot, probes, temperature, signal);
  const scores = exact === null ? await runtime.score(snapshot, probes, temperature, signal) : null;
  const found = messageDivergence(
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
