/** Selects messages of held-out questions to replay with an empty message in their place. */

import type { Message } from '../../domain/message.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';
import { drawRows, findHeldOutContexts, createDrawKey } from './diagnoseSample.ts';

export interface EmptiedSettings {
  /** Most questions, each with one message. */
  readonly contexts: number;
  /** Role of the messages; null for the first role that others follow. */
  readonly role: string | null;
  /** Seed for drawing the questions. It affects nothing else. */
  readonly seed: number;
}

/**
 * Returns one message of the role for each drawn question of the last sampled evaluation.
 * @throws C3Error('input') for a role that no other role follows, or a run without such an
 *   evaluation
 */
export function selectMessagesToEmpty(
  store: Pick<StoreReader, 'evaluationNumbers' | 'evaluations' | 'episodes' | 'chain'>,
  run: string,
  protocol: Protocol,
  { contexts, role, seed }: EmptiedSettings,
): readonly Message[] {
  const open = protocol.occurrences.filter(({ position }) => !isTerminal(protocol, position));
  const asked = role ?? open[0]?.role;
  const [first] = open.filter((one) => one.role === asked);
  if (first === undefined) {
    const names = [...new Set(open.map((one) => one.role))].join(', ');
    throw new C3Error(
      'input',
      `--role: no role follows ${role === null ? 'any role of this run' : JSON.stringify(role.slice(0, 40))}, so that nothing could change without its message${names === '' ? '.' : `; name ${names}.`}`,
    );
  }
  const held = findHeldOutContexts(store, run, new Set([first.position]));
  if (held === null) {
    throw new C3Error(
      'input',
      `Run ${run} has no sampled evaluation, whose questions are held out; give a run evaluation.instances above 0.`,
    );
  }
  // A question may have several messages of the role, one for each sample. The first one drawn counts.
  const drawn = drawRows(held.messages, { contexts: held.messages.length, seed }, createDrawKey);
  return [...new Map(drawn.toReversed().map((message) => [message.problem, message])).values()]
    .reverse()
    .slice(0, contexts);
}
