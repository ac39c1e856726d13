/** Asks a model judge like a role: with its limits, retries, and a spending limit of its own. */

import { createHash } from 'node:crypto';
import { wilsonInterval } from '../../credit/interval.ts';
import type { JudgeAgreement, ScoreAgreement } from '../../domain/run.ts';
import { askJudgeTwice, type AskJudge, type JudgeSettings, type LabeledMessage } from '../../evaluate/modelJudge.ts';
import type { EndpointPolicy } from '../../policy/endpoint/endpointPolicy.ts';
import type { SpendingLimit } from '../../policy/endpoint/spending.ts';
import { isServed, JUDGE_ROLE, JUDGE_TOKENS, type RolePolicySettings } from '../../shared/rolePolicies.ts';
import type { EndpointPlaces, EndpointProbes, Endpoints, SpendingAccount } from './endpoints.ts';

const SAMPLING = { temperature: 0, topP: 1, topK: 0, maxNewTokens: JUDGE_TOKENS };
/** A tokenizer without tokens: nobody needs those of the judge's answers. */
const NO_TOKENS = { encode: () => new Int32Array(), decode: () => '' };

/** Probes of an engine's judges. */
const probed = new WeakMap<Endpoints, Map<string, EndpointProbes>>();

/**
 * Returns a function that asks the judge of a configuration, which connects at the first question.
 * @param account counts the cost
 * @param limit overrides that of the configuration
 * @param places actions that open its line
 * @returns null if no model judge scores
 */
export function createJudgeAsker(
  endpoints: Endpoints,
  judge: RolePolicySettings | undefined,
  account: () => SpendingAccount,
  {
    limit = {},
    places,
  }: { readonly limit?: Partial<SpendingLimit> | undefined; readonly places?: EndpointPlaces | undefined } = {},
): AskJudge | null {
  if (judge === undefined || !isServed(judge)) {
    return null;
  }
  const policies = { [JUDGE_ROLE]: judge };
  const name = JSON.stringify(judge);
  const before = probed.get(endpoints) ?? new Map<string, EndpointProbes>();
  probed.set(endpoints, before);
  const open = async (signal: AbortSignal): Promise<EndpointPolicy | undefined> => {
    const opening = {
      policies,
      known: before.get(name) ?? {},
      tokenizer: NO_TOKENS,
      account: account(),
      limit,
      places,
    };
    const found = await endpoints.open(opening, signal);
    before.set(name, found.probes);
    return found.policies.get(JUDGE_ROLE);
  };
  let opened: Promise<EndpointPolicy | undefined> | null = null;
  const policy = (signal: AbortSignal): Promise<EndpointPolicy | undefined> =>
    (opened ??= open(signal).catch((error: unknown) => {
      opened = null;
      throw error;
    }));
  return async (asked, messages, signal) => {
    const streamKey = createHash('sha256').update(asked).digest('hex').slice(0, 32);
    const context = JSON.stringify(messages);
    const request = { role: JUDGE_ROLE, context, sampling: SAMPLING, streamKey, place: 'the judge' };
    const [answer] = (await (await policy(signal))?.answer([request], { signal })) ?? [];
    return answer === undefined || answer.lost !== undefined
      ? { lost: answer?.lost ?? 'nobody was asked' }
      : { text: answer.text };
  };
}

/** Asks the judge twice about each message that the user labeled. @throws as AskJudge */
export async function measureJudge(
  settings: JudgeSettings,
  labels: readonly LabeledMessage[],
  signal: AbortSignal,
): Promise<JudgeAgreement> {
  const scores = await askJudgeTwice(settings, labels, signal);
  return {
    labels: labels.length,
    unread: scores.flat().filter((score) => score === null).length,
    self: measureScoreAgreement(scores),
    user: measureScoreAgreement(scores.map(([first], index) => [first, labels[index]?.score ?? null])),
  };
}

/** Measures the agreement of two scores of the same messages; pairs with a missing score are left out. */
export function measureScoreAgreement(pairs: readonly (readonly [number | null, number | null])[]): ScoreAgreement {
  const both = pairs.flatMap(([one, other]) => (one === null || other === null ? [] : [[one, other] as const]));
  const same = wilsonInterval(both.filter(([one, other]) => one >= 0.5 === other >= 0.5).length, both.length);
  return {
    n: both.length,
    same: same === null ? null : { value: same.value, low: same.low ?? 0, high: same.high ?? 1 },
    distance:
      both.length === 0 ? null : both.reduce((sum, [one, other]) => sum + Math.abs(one - other), 0) / both.length,
  };
}
