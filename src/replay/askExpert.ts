/** How environments ask a model: the policy of the role `expert`, one question after the other. */
import type { Sampling } from '../domain/message.ts';
import type { Problem } from '../domain/problem.ts';
import type { Ask } from '../environment/kind.ts';
import { takesSeeds, type Policy } from '../policy/policy.ts';
import { CancelledError, messageOf } from '../shared/errors.ts';
import { EXPERT_ROLE } from '../shared/rolePolicies.ts';
import { promptMessages, type Renderer } from '../team/render.ts';

/** As the published scripts ask their expert (MAGRPO reference section 6), with a shorter answer. */
const SAMPLING: Sampling = { temperature: 0.3, topP: 1, topK: 0, maxNewTokens: 512 };

/** What each policy was asked last: branches ask at once, and a model answers one of them at a time. */
const asked = new WeakMap<Policy, Promise<unknown>>();

/**
 * Asks on behalf of an environment. A policy that fails gives a sentence; what it says of its tokens is not kept.
 * @param streamOf the stream of an attempt; unused where the policy takes no seeds
 * @throws CancelledError
 */
export function createAsker(
  { policy, render }: { readonly policy: Policy; readonly render: Renderer },
  { question, uid }: Problem,
  streamOf: (attempt: number) => string,
  signal: AbortSignal,
): Ask {
  return async (prompt, attempt) => {
    const before = asked.get(policy);
    const answering = (async () => {
      await before?.catch(() => undefined);
      const [answer] = await policy.answer(
        [
          {
            role: EXPERT_ROLE,
            context: await render(prompt, EXPERT_ROLE),
            messages: promptMessages(prompt),
            sampling: SAMPLING,
            streamKey: takesSeeds(policy, EXPERT_ROLE) ? streamOf(attempt) : '',
            place: `the ${EXPERT_ROLE} for the problem ${JSON.stringify(uid.slice(0, 120))}`,
            question,
            turn: attempt,
          },
        ],
        { signal },
      );
      return answer?.text ?? '';
    })();
    asked.set(policy, answering);
    try {
      return { text: await answering };
    } catch (error) {
      if (error instanceof CancelledError || signal.aborted) {
        throw error;
      }
      return { failed: messageOf(error) };
    }
  };
}
