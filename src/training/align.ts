/**
 * Stage 0 of a replacement (TeamTR reference section 7): the new agent learns to say what the old one says in probe
 * contexts, by gradient steps on
 *
 *   KL(old || new) = mean over messages of the sum over tokens of log old - log new
 *
 * of the old agent's messages, each token by the estimate k3. Its gradient is that of their cross-entropy in the mean,
 * and 0 for each message where both agents agree, so that few messages are not learned by heart. It ends where the KL
 * of probes that are not learned from is at most delta.
 */
import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { TrainingContext } from '../runtime/train/graph/pack.ts';
import { messageDivergence } from './divergence.ts';

/** One probe of so many is not learned from, where there are as many. */
export const HELD_OUT = 5;

export interface AlignSettings {
  /** At which the old agent's messages were sampled. */
  readonly temperature: number;
  /** Where the KL is at most this, in nats, it ends. */
  readonly delta: number;
  readonly learningRate: number;
  /** Steps of the optimizer, at most. */
  readonly maxSteps: number;
}

export interface Aligned {
  /** The team with the new agent where its KL was least, held by the runtime. */
  readonly snapshot: string;
  /** The KL before each step, and after the last. */
  readonly kls: readonly number[];
  /** Whether it came to delta. */
  readonly met: boolean;
}

/**
 * Aligns the agent of some probes; nothing else of the training state changes but its optimizer's.
 * @param runtime in training, of the team with the new agent
 * @param probes with the old agent's messages, and their log-probabilities as `behaviour`
 * @throws CancelledError; C3Error
 */
export async function aligned(
  runtime: ModelRuntime,
  probes: readonly TrainingContext[],
  { temperature, delta, learningRate, maxSteps }: AlignSettings,
  signal: AbortSignal,
): Promise<Aligned> {
  const several = probes.length >= HELD_OUT;
  const monitored = several ? probes.filter((_, index) => index % HELD_OUT === HELD_OUT - 1) : probes;
  const learned = several ? probes.filter((_, index) => index % HELD_OUT !== HELD_OUT - 1) : probes;
  const kls: number[] = [];
  let best: { readonly snapshot: string; readonly kl: number } | null = null;
  const own = new Set<string>();
  for (;;) {
    const held = await runtime.snapshots();
    const snapshot = await runtime.freeze();
    if (!held.includes(snapshot)) {
      own.add(snapshot);
    }
    const kl = await klOf(runtime, snapshot, monitored, temperature, signal);
    kls.push(kl);
    best = best === null || kl < best.kl ? { snapshot, kl } : best;
    for (const other of [...own].filter((one) => one !== best?.snapshot)) {
      await runtime.releaseSnapshot(other);
      own.delete(other);
    }
    if (kl <= delta || kls.length > maxSteps) {
      return { snapshot: best.snapshot, kls, met: best.kl <= delta };
    }
    const loss = { loss: 'ppo', policy: { kl: { against: 'last', estimator: 'k3', fromLast: true } } } as const;
    await runtime.step(learned, { ...loss, learningRate, temperature, klCoefficient: 1 }, signal);
  }
}

async function klOf(
  runtime: ModelRuntime,
  snapshot: string,
  probes: readonly TrainingContext[],
  temperature: number,
  signal: AbortSignal,
): Promise<number> {
  const scores = await runtime.score(snapshot, probes, temperature, signal);
  const messages = probes.flatMap((probe, index) =>
    probe.messages.map(({ behaviour }, number) => ({
      before: behaviour,
      after: scores[index]?.[number] ?? behaviour,
      advantage: 0,
    })),
  );
  return messageDivergence(messages).k3;
}
