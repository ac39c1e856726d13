/**
 * The states that a value head values (C3 reference section 2.2, "state text": the problem, every earlier role's
 * message, who speaks next).
 *
 * Here a state is the context of the message that comes next, written in the model's own form as if its role saw every
 * message before it, so that parallel roles' messages are in it too; the role's prompt says who speaks next. The value
 * is read at its last token. A state that is longer than the model has positions loses its beginning.
 */
import type { Tokenizer } from '../../policy/tokenizer.ts';
import type { TreeMessage } from '../../replay/tree.ts';
import type { ModelRuntime } from '../../runtime/modelRuntime.ts';
import type { ValueState } from '../../runtime/train/valueHead.ts';
import { speaksOtherTokens, type RolePolicies } from '../../shared/rolePolicies.ts';
import { occurrenceAt, type Protocol } from '../../team/protocol.ts';
import { renderContext, type Renderer } from '../../team/render.ts';
import type { ValueTarget } from '../methods/method.ts';

export interface StateForm {
  readonly protocol: Protocol;
  readonly render: Renderer;
  readonly tokenizer: Tokenizer;
  /** Positions of the model. */
  readonly maxPositions: number;
}

/** Where an episode is before a message: all that a state says. */
export interface Moment {
  readonly position: number;
  readonly question: string;
  /** Position -> text of every earlier message of the episode. */
  readonly messages: ReadonlyMap<number, string>;
  /**
   * The message itself, where it is valued in its state (the prefix text of section 3.4); left out, the state alone is.
   * A text is written in the tokens of the model in training: another model's mean something else to it.
   */
  readonly said?: Int32Array | string;
}

/** The text of a state. */
export async function stateText(
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

/** The different states among some moments, each with what is valued in it, and which one each moment has. */
export async function statesOf(
  form: StateForm,
  moments: readonly Moment[],
): Promise<{ readonly states: readonly ValueState[]; readonly places: readonly number[] }> {
  const texts = await Promise.all(moments.map((moment) => stateText(form, moment)));
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
    const { role } = occurrenceAt(form.protocol, moment.position);
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
 * The value of every message of some trees, or of its state, by the policy in training.
 * @param policies of the roles that the model in training does not answer for
 * @throws CancelledError
 */
export async function treeValues(
  form: StateForm,
  policies: RolePolicies | undefined,
  runtime: Pick<ModelRuntime, 'values'>,
  roots: readonly TreeMessage[],
  target: ValueTarget,
  signal: AbortSignal,
): Promise<ReadonlyMap<TreeMessage, number>> {
  const messages = withDescendants(roots);
  const { states, places } = await statesOf(
    form,
    messages.map((message) => momentOf(message, target, occurrenceAt(form.protocol, message.position).role, policies)),
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
 * The value of one state, by the policy of a snapshot and a value head that was kept of it.
 * @throws C3Error('model') where the head cannot be read; CancelledError
 */
export async function snapshotValue(
  form: StateForm,
  runtime: Pick<ModelRuntime, 'valuesUnder'>,
  { snapshot, head }: { readonly snapshot: string; readonly head: string | null },
  moment: Moment,
  signal: AbortSignal,
): Promise<number> {
  const [value] = await runtime.valuesUnder(snapshot, head, (await statesOf(form, [moment])).states, signal);
  if (value === undefined) {
    throw new Error('A state that is asked about has a value.');
  }
  return value;
}

const withDescendants = (messages: readonly TreeMessage[]): TreeMessage[] =>
  messages.flatMap((message) => [message, ...withDescendants(message.children)]);

function momentOf(
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
