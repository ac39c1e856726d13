/** Trains the value head on the messages of a stage. */

import type { ModelRuntime } from '../runtime/modelRuntime.ts';
import type { ValueExample, ValueReport, ValueSettings } from '../runtime/train/valueHead.ts';
import type { StoreReader } from '../store/types.ts';
import type { ValueTarget } from './methods/method.ts';
import type { StageMessages } from './stageMessages.ts';
import { collectStates, type Moment, type StateForm } from './state/states.ts';

interface ValueInput extends StateForm {
  readonly store: StoreReader;
  readonly runtime: ModelRuntime;
  readonly signal: AbortSignal;
}

/**
 * Trains the value head on every message with a credit. The target is the return that follows the
 * message's state, which is its credit plus its value, or the message's mean return.
 * @returns the head's loss and explained variance before training
 */
export async function trainValueHead(
  input: ValueInput,
  { said, learned }: StageMessages,
  target: ValueTarget,
  settings: ValueSettings,
): Promise<ValueReport> {
  const { store, runtime, signal } = input;
  const stored = new Map(store.messages(said.map(({ message }) => message)).map((message) => [message.id, message]));
  const questions = new Map(
    [...new Set(learned.map(({ problem }) => problem))].map((problem) => [problem, store.problem(problem).question]),
  );
  const { states, places } = await collectStates(
    input,
    learned.map(({ message, problem, position, tokens }): Moment => {
      const messages = new Map<number, string>();
      for (
        let above = stored.get(stored.get(message)?.parent ?? -1);
        above !== undefined;
        above = stored.get(above.parent ?? -1)
      ) {
        messages.set(above.position, above.text);
      }
      return {
        position,
        question: questions.get(problem) ?? '',
        messages,
        ...(target === 'message' && { said: tokens }),
      };
    }),
  );
  const examples = learned.flatMap(({ credit, message }, index): ValueExample[] => {
    const [state, value] = [places[index] ?? -1, stored.get(message)?.return ?? null];
    if (credit === null) {
      return [];
    }
    if (target === 'state') {
      return [{ state, advantage: credit }];
    }
    return value === null ? [] : [{ state, target: value }];
  });
  return runtime.learnValues(states, examples, settings, signal);
}
