/**
 * The states that a value head values (C3 reference section 2.2, "state text": the problem, every
 * earlier role's message, and who speaks next). A state is the context of the next message, written in
 * the model's own form as if its role saw every message before it, so that it includes the messages of
 * parallel roles. The role's prompt says who speaks next. The value is read at the last token. A state
 * longer than the model's positions loses its beginning.
 */

import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { TreeMessage } from '../../replay/tree.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import type { ValueState } from '../../runtime/train/valueHead.ts';
import { speaksOtherTokens, type RolePolicies } from '../../shared/rolePolicies.ts';
import { requireOccurrence, type Protocol } from '../../team/protocol.ts';
import { renderContext, type Renderer } from '../../team/render.ts';
import type { ValueTarget } from '../methods/method.ts';

export interface StateForm {
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly tokenizer: Tokenizer;
  /** The number of positions of the model. */
  readonly maxPositions: number;
}

/** The moment of an episode before a message: everything that a state contains. */
export interface Moment {
  readonly position: number;
  readonly question: string;
  /** Position -> text of every earlier message of the episode. */
  readonly messages: ReadonlyMap<number, string>;
  /**
   * The message itself, if it is valued in its state (the prefix text of section 3.4); if absent, only
   * the state is valued. A text is encoded with the tokenizer of the model in training, because another
   * model's tokens mean something else to it.
   */
  readonly said?: Int32Array | string;
}

/** Returns the text of a state. */
export async function renderState(
  { protocol, render }: Pick<StateForm, 'protocol' | 'render'>,
  { position, question, messages }: Moment,
): Promise<string> {
  const everything: Protocol = {
    ...protocol,
    occurrences: protocol.occurrences.map((occurrence) => ({
      ...occurrence,
      ancestors: protocol.occurrences.slice(0, occurrence.position).map((earlier) => earlier.position),
    })),
  };
  return render(renderContext(everything, position, question, messages));
}

/** Returns the distinct states of some moments, and the index of each moment's state. */
export async function collectStates(
  form: StateForm,
  moments: readonly Moment[],
): Promise<{ readonly states: readonly ValueState[]; readonly places: readonly number[] }> {
  const texts = await Promise.all(moments.map((moment) => renderState(form, moment)));
  const distinct = [...new Set(texts)];
  const encoded = new Map(
    await Promise.all(distinct.map(async (text) => [text, await form.tokenizer.encode(text)] as const)),
  );
  const saidTokens = await Promise.all(
    moments.map(async ({ said = new Int32Array() }) =>
      typeof said === 'string'
        ? Int32Array.from([...(await form.tokenizer.encode(said)), form.tokenizer.endToken])
        : said,
    ),
  );
  const states: ValueState[] = [];
  const known = new Map<string, number>();
  const places = moments.map((moment, index) => {
    const { role } = requireOccurrence(form.protocol, moment.position);
    const text = texts[index] ?? '';
    const said = saidTokens[index] ?? new Int32Array();
    const name = JSON.stringify([role, text, ...said]);
    const place =
      known.get(name) ??
      states.push({
        role,
        tokens: Int32Array.from([...(encoded.get(text) ?? []), ...said].slice(-form.maxPositions)),
      }) - 1;
    known.set(name, place);
    return place;
  });
  return { states, places };
}

/**
 * Returns the value of every message of some trees, or of its state, under the policy in training.
 * @param policies policies of the roles that the model in training does not answer for
 * @throws CancelledError
 */
export async function valueTrees(
  form: StateForm,
  policies: RolePolicies | undefined,
  runtime: Pick<ModelRuntime, 'values'>,
  roots: readonly TreeMessage[],
  target: ValueTarget,
  signal: AbortSignal,
): Promise<ReadonlyMap<TreeMessage, number>> {
  const messages = flattenMessages(roots);
  const { states, places } = await collectStates(
    form,
    messages.map((message) =>
      toMoment(message, target, requireOccurrence(form.protocol, message.position).role, policies),
    ),
  );
  const values = await runtime.values(states, signal);
  return new Map(
    messages.flatMap((message, index) => {
      const value = values[places[index] ?? -1];
      return value === undefined ? [] : [[message, value] as const];
    }),
  );
}

/**
 * Returns the value of one state under the policy of a snapshot and a saved value head.
 * @throws C3Error('model') if the head cannot be read; CancelledError
 */
export async function valueSnapshotState(
  form: StateForm,
  runtime: Pick<ModelRuntime, 'valuesUnder'>,
  { snapshot, head }: { readonly snapshot: string; readonly head: string | null },
  moment: Moment,
  signal: AbortSignal,
): Promise<number> {
  const [value] = await runtime.valuesUnder(snapshot, head, (await collectStates(form, [moment])).states, signal);
  if (value === undefined) {
    throw new Error('A state that is asked about has a value.');
  }
  return value;
}

const flattenMessages = (messages: readonly TreeMessage[]): TreeMessage[] =>
  messages.flatMap((message) => [message, ...flattenMessages(message.children)]);

function toMoment(
  { problem, position, parent, answer }: TreeMessage,
  target: ValueTarget,
  role: string,
  policies: RolePolicies | undefined,
): Moment {
  const messages = new Map<number, string>();
  for (let message = parent; message !== null; message = message.parent) {
    messages.set(message.position, message.answer.text);
  }
  const said = speaksOtherTokens(policies, role) ? answer.text : answer.tokens;
  return { position, question: problem.question, messages, ...(target === 'message' && { said }) };
}
