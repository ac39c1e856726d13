/** Which messages of held-out questions are replayed with nothing in their place. */
import type { Message } from '../../domain/message.ts';
import { C3Error } from '../../shared/errors.ts';
import type { StoreReader } from '../../store/types.ts';
import { isTerminal, type Protocol } from '../../team/protocol.ts';
import { draw, heldOutContexts, placeOf } from './diagnoseSample.ts';

export interface EmptiedSettings {
  /** Questions at most; each has one message. */
  readonly contexts: number;
  /** Whose messages; null for the first role that others follow. */
  readonly role: string | null;
  /** Which questions are drawn; nothing else. */
  readonly seed: number;
}

/**
 * One message of the role for each question of the last sampled evaluation, as many as are asked for.
 * @throws C3Error('input') for a role that nobody follows, or a run without such an evaluation
 */
export function messagesToEmpty(
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
      `--role: nobody follows ${role === null ? 'any role of this run' : JSON.stringify(role.slice(0, 40))}, so that nothing could change without its message${names === '' ? '.' : `; name ${names}.`}`,
    );
  }
  const held = heldOutContexts(store, run, new Set([first.position]));
  if (held === null) {
    throw new C3Error(
      'input',
      `Run ${run} has no sampled evaluation, whose questions are held out; give a run evaluation.instances above 0.`,
    );
  }
  // A question may have several messages of the role, one for each sample: the first one drawn answers for it.
  const drawn = draw(held.messages, { contexts: held.messages.length, seed }, placeOf);
  return [...new Map(drawn.toReversed().map((message) => [message.problem, message])).values()]
    .reverse()
    .slice(0, contexts);
}
