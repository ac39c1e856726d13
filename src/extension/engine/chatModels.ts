/** Asks the chat models that VS Code offers, and says what it answers as data; pure but for the models themselves. */
import { onAbort, throwIfAborted } from '../../shared/cancellation.ts';
import { CancelledError, messageOf } from '../../shared/errors.ts';
import { isRecord } from '../../shared/guard.ts';
import type {
  EditorAnswer,
  EditorFailure,
  EditorFailureKind,
  EditorModels,
  EditorOpened,
  EditorOpenParams,
  EditorQuestion,
} from '../../shared/protocols/editorProtocol.ts';
import type { EditorModel } from '../../shared/rolePolicies.ts';
import { oneLine } from '../../shared/text/oneLine.ts';

/** What is used of a chat model of VS Code. */
export interface ChatModel<Message, Token> {
  readonly vendor: string;
  readonly family: string;
  readonly version: string;
  readonly id: string;
  readonly name: string;
  readonly maxInputTokens: number;
  sendRequest(
    messages: Message[],
    options: { justification: string; modelOptions: Record<string, unknown> },
    token: Token,
  ): PromiseLike<{ readonly text: AsyncIterable<string> }>;
  countTokens(text: string | Message, token: Token): PromiseLike<number>;
}

/** What is used of VS Code. */
export interface ChatSurface<Message, Token, Model extends ChatModel<Message, Token>> {
  readonly select: (model: EditorModel) => Promise<readonly Model[]>;
  /** Undefined where the user has not been asked. */
  readonly canAsk: (model: Model) => boolean | undefined;
  readonly user: (text: string) => Message;
  readonly assistant: (text: string) => Message;
  readonly cancellation: () => Cancellation<Token>;
}

interface Cancellation<Token> {
  readonly token: Token;
  cancel(): void;
  dispose(): void;
}

/** Models that are named where none fits. */
const NAMED = 8;
/** Characters of what VS Code says. */
const MOST_WORDS = 300;
/** Characters between two counts of the tokens of an answer that is on its way. */
const COUNT_EVERY = 256;
/** Characters of an answer: no token of a known tokenizer has as many on average. */
const MOST_CHARACTERS_OF_TOKEN = 16;
const CONSENT_QUESTION = 'Answer with the word yes.';

export class ChatModels<Message, Token, Model extends ChatModel<Message, Token>> implements Pick<
  EditorModels,
  'open' | 'answer'
> {
  private readonly surface: ChatSurface<Message, Token, Model>;

  constructor(surface: ChatSurface<Message, Token, Model>) {
    this.surface = surface;
  }

  /** Chooses a model. Where the user was not asked whether C3 may use it, a short request has VS Code ask. */
  async open(
    { model: wanted, known, role }: EditorOpenParams,
    signal: AbortSignal,
  ): Promise<EditorOpened | EditorFailure> {
    const fitting = await this.surface.select(known ?? wanted);
    const model = fitting.find(({ vendor, id }) => known === null || (vendor === known.vendor && id === known.id));
    if (model === undefined) {
      const offered = (await this.surface.select({})).map(({ vendor, family, id }) => `${vendor} ${family} (${id})`);
      const more = offered.length > NAMED ? `, and ${offered.length - NAMED} more` : '';
      return { kind: 'missing', words: oneLine(offered.slice(0, NAMED).join(', ') + more, MOST_WORDS) };
    }
    const allowed = this.surface.canAsk(model);
    if (allowed === false) {
      return { kind: 'consent', words: '' };
    }
    if (allowed === undefined) {
      const answer = await this.ask(model, role, [this.surface.user(CONSENT_QUESTION)], {}, 1, signal);
      if (answer.kind !== 'answer') {
        return answer;
      }
    }
    return { kind: 'open', vendor: model.vendor, id: model.id, name: oneLine(model.name, MOST_WORDS) };
  }

  /** One answer to one context. */
  async answer(question: EditorQuestion, signal: AbortSignal): Promise<EditorAnswer | EditorFailure> {
    const { vendor, id, role, temperature, topP, maxNewTokens } = question;
    const [model] = await this.surface.select({ vendor, id });
    if (model === undefined) {
      return { kind: 'missing', words: '' };
    }
    const messages = question.messages.map(({ role: speaker, content }) =>
      // These models know two speakers: what the system says is the first thing that they are asked.
      speaker === 'assistant' ? this.surface.assistant(content) : this.surface.user(content),
    );
    const options = { temperature, top_p: topP, max_tokens: maxNewTokens };
    return this.ask(model, role, messages, options, maxNewTokens, signal);
  }

  private async ask(
    model: Model,
    role: string,
    messages: Message[],
    modelOptions: Record<string, unknown>,
    maxNewTokens: number,
    signal: AbortSignal,
  ): Promise<EditorAnswer | EditorFailure> {
    throwIfAborted(signal);
    const source = this.surface.cancellation();
    const release = onAbort(signal, () => source.cancel());
    try {
      const counts = await Promise.all(messages.map((message) => model.countTokens(message, source.token)));
      const prompt = counts.reduce((total, one) => total + countOf(one), 0);
      if (prompt > model.maxInputTokens) {
        return { kind: 'long', words: `it has ${prompt} tokens of at most ${model.maxInputTokens}` };
      }
      const justification = `C3 asks this model for the messages of the role ${role}.`;
      const response = await model.sendRequest(messages, { justification, modelOptions }, source.token);
      const said = await this.read(model, response.text, maxNewTokens, source);
      throwIfAborted(signal);
      return { kind: 'answer', prompt, ...said };
    } catch (error) {
      if (signal.aborted) {
        throw new CancelledError();
      }
      return failureOf(error);
    } finally {
      release();
      source.dispose();
    }
  }

  /** Reads an answer to its end, or to where it has as many tokens as it may have: no option of theirs is sure to. */
  private async read(
    model: Model,
    parts: AsyncIterable<string>,
    maxNewTokens: number,
    source: Cancellation<Token>,
  ): Promise<Pick<EditorAnswer, 'text' | 'finish' | 'completion'>> {
    const most = maxNewTokens * MOST_CHARACTERS_OF_TOKEN;
    let text = '';
    // A text has at least as many characters as tokens, or nearly so.
    let countAt = Math.max(COUNT_EVERY, maxNewTokens);
    for await (const part of parts) {
      text += part;
      if (text.length < countAt) {
        continue;
      }
      text = text.slice(0, most);
      const completion = countOf(await model.countTokens(text, source.token));
      if (completion >= maxNewTokens || text.length === most) {
        source.cancel();
        return { text: text.toWellFormed(), finish: 'length', completion };
      }
      countAt = text.length + COUNT_EVERY;
    }
    text = text.slice(0, most);
    const completion = countOf(await model.countTokens(text, source.token));
    return { text: text.toWellFormed(), finish: completion >= maxNewTokens ? 'length' : 'end', completion };
  }
}

/** Tokens that are counted at most: a model may say anything. */
const MOST_COUNTED = 2 ** 22;
const countOf = (tokens: number): number =>
  Number.isFinite(tokens) ? Math.min(MOST_COUNTED, Math.max(0, Math.round(tokens))) : 0;

/** By the codes of LanguageModelError and the names that providers give to their errors. */
const KINDS: Readonly<Record<string, EditorFailureKind>> = {
  NoPermissions: 'consent',
  Blocked: 'quota',
  NotFound: 'missing',
  ChatQuotaExceeded: 'quota',
  ChatRateLimited: 'busy',
};

/** What an error of a request means. */
export function failureOf(error: unknown): EditorFailure {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  // What it is caused by says more than that something failed.
  const names = [cause, error].flatMap((one) =>
    isRecord(one) || one instanceof Error ? ['code', 'name'].map((key) => String(Reflect.get(one, key) ?? '')) : [],
  );
  const kind = names.flatMap((name) => (Object.hasOwn(KINDS, name) ? (KINDS[name] ?? []) : []))[0] ?? 'failed';
  const words = [messageOf(error), ...(cause === undefined ? [] : [messageOf(cause)])].join(': ');
  return { kind, words: oneLine(words, MOST_WORDS) };
}
