/** Asks the chat models of VS Code and returns their answers as data. Pure except for the models. */

import { onAbort, throwIfAborted } from '../../shared/cancellation.ts';
import { CancelledError, toErrorMessage } from '../../shared/errors.ts';
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
import { toOneLine } from '../../shared/text/oneLine.ts';

/** The part of a chat model of VS Code that is used. */
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

/** The part of VS Code that is used. */
export interface ChatSurface<Message, Token, Model extends ChatModel<Message, Token>> {
  readonly select: (model: EditorModel) => Promise<readonly Model[]>;
  /** Returns true if C3 may use the model, or undefined if the user has not been asked. */
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

/** Maximum number of models that are named if none fits. */
const NAMED = 8;
/** Maximum length of a text of VS Code, in characters. */
const MOST_WORDS = 300;
/** Characters of an answer that arrive between two counts of its tokens. */
const COUNT_EVERY = 256;
/** Maximum average length of a token, in characters. No known tokenizer reaches it. */
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

  /** Chooses a model. If the user has not been asked for consent, a short request makes VS Code ask. */
  async open(
    { model: wanted, known, role }: EditorOpenParams,
    signal: AbortSignal,
  ): Promise<EditorOpened | EditorFailure> {
    const fitting = await this.surface.select(known ?? wanted);
    const model = fitting.find(({ vendor, id }) => known === null || (vendor === known.vendor && id === known.id));
    if (model === undefined) {
      const offered = (await this.surface.select({})).map(({ vendor, family, id }) => `${vendor} ${family} (${id})`);
      const more = offered.length > NAMED ? `, and ${offered.length - NAMED} more` : '';
      return { kind: 'missing', words: toOneLine(offered.slice(0, NAMED).join(', ') + more, MOST_WORDS) };
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
    return { kind: 'open', vendor: model.vendor, id: model.id, name: toOneLine(model.name, MOST_WORDS) };
  }

  /** Asks a model for one answer to one context. */
  async answer(question: EditorQuestion, signal: AbortSignal): Promise<EditorAnswer | EditorFailure> {
    const { vendor, id, role, temperature, topP, maxNewTokens } = question;
    const [model] = await this.surface.select({ vendor, id });
    if (model === undefined) {
      return { kind: 'missing', words: '' };
    }
    const messages = question.messages.map(({ role: speaker, content }) =>
      // These models know two speakers only, so a system message becomes a user message.
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
      const prompt = counts.reduce((total, one) => total + clampTokenCount(one), 0);
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
      return classifyFailure(error);
    } finally {
      release();
      source.dispose();
    }
  }

  /** Reads an answer until it ends or reaches the maximum of tokens, which a model may ignore. */
  private async read(
    model: Model,
    parts: AsyncIterable<string>,
    maxNewTokens: number,
    source: Cancellation<Token>,
  ): Promise<Pick<EditorAnswer, 'text' | 'finish' | 'completion'>> {
    const most = maxNewTokens * MOST_CHARACTERS_OF_TOKEN;
    let text = '';
    // A text has about as many characters as tokens, or more.
    let countAt = Math.max(COUNT_EVERY, maxNewTokens);
    for await (const part of parts) {
      text += part;
      if (text.length < countAt) {
        continue;
      }
      text = text.slice(0, most);
      const completion = clampTokenCount(await model.countTokens(text, source.token));
      if (completion >= maxNewTokens || text.length === most) {
        source.cancel();
        return { text: text.toWellFormed(), finish: 'length', completion };
      }
      countAt = text.length + COUNT_EVERY;
    }
    text = text.slice(0, most);
    const completion = clampTokenCount(await model.countTokens(text, source.token));
    return { text: text.toWellFormed(), finish: completion >= maxNewTokens ? 'length' : 'end', completion };
  }
}

/** Maximum of a token count. The count comes from the model's provider, which may return any number. */
const MOST_COUNTED = 2 ** 22;
const clampTokenCount = (tokens: number): number =>
  Number.isFinite(tokens) ? Math.min(MOST_COUNTED, Math.max(0, Math.round(tokens))) : 0;

/** Kinds of failure, by the codes of LanguageModelError and the error names of providers. */
const KINDS: Readonly<Record<string, EditorFailureKind>> = {
  NoPermissions: 'consent',
  Blocked: 'quota',
  NotFound: 'missing',
  ChatQuotaExceeded: 'quota',
  ChatRateLimited: 'busy',
};

/** Classifies the error of a request. */
export function classifyFailure(error: unknown): EditorFailure {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  // The cause comes first: it says more than the error around it.
  const names = [cause, error].flatMap((one) =>
    isRecord(one) || one instanceof Error ? ['code', 'name'].map((key) => String(Reflect.get(one, key) ?? '')) : [],
  );
  const kind = names.flatMap((name) => (Object.hasOwn(KINDS, name) ? (KINDS[name] ?? []) : []))[0] ?? 'failed';
  const words = [toErrorMessage(error), ...(cause === undefined ? [] : [toErrorMessage(cause)])].join(': ');
  return { kind, words: toOneLine(words, MOST_WORDS) };
}
