/** Chat models of VS Code, which windows ask. If a window closes, another one is asked. */

import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { maskText } from '../../logs/secrets.ts';
import { EndpointClient } from '../../policy/endpoint/client.ts';
import type { EndpointProbe } from '../../policy/endpoint/endpointPolicy.ts';
import type { Exchange } from '../../policy/endpoint/exchange.ts';
import { EndpointFailure } from '../../policy/endpoint/failure.ts';
import type { Reply } from '../../policy/endpoint/reply.ts';
import type { Spending } from '../../policy/endpoint/spending.ts';
import { combineSignals, throwIfAborted } from '../../shared/cancellation.ts';
import { C3Error, CancelledError } from '../../shared/errors.ts';
import type { LongWait } from '../../shared/longWait.ts';
import type {
  EditorAnswer,
  EditorFailure,
  EditorModelName,
  EditorModels,
  EditorOpened,
  EditorQuestion,
} from '../../shared/protocols/editorProtocol.ts';
import { describeEditorModel, type EditorSettings } from '../../shared/rolePolicies.ts';
import { toClientLimits } from './clientLimits.ts';

/** The client's only address, for any window. */
const WINDOW = 'vscode://VS-Code';
/** Milliseconds to wait for a window; a reloaded one is back within a few seconds. */
const WAIT_MILLISECONDS = 30_000;

/** Thrown by a window whose connection ended before its answer. */
export class WindowGone extends Error {}

/** The part of a server's request body that a chat model gets. */
const bodySchema = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string() })).min(1),
  temperature: z.number(),
  top_p: z.number(),
  max_tokens: z.number(),
});

export class EditorWindows {
  private readonly open = new Set<EditorModels>();
  private readonly wait: number;
  private arrived = Promise.withResolvers<false>();
  private seen = false;

  /** @param wait milliseconds to wait for a window that may come back */
  constructor(wait = WAIT_MILLISECONDS) {
    this.wait = wait;
  }

  /** Adds a window that can be asked. @returns a function that removes it */
  add(window: EditorModels): () => void {
    this.open.add(window);
    this.seen = true;
    this.arrived.resolve(false);
    this.arrived = Promise.withResolvers<false>();
    return () => this.open.delete(window);
  }

  /** Asks the user in any open window; returns false if no window is open. @throws CancelledError */
  async askWait(wait: LongWait, signal: AbortSignal): Promise<boolean> {
    if (this.open.size === 0) {
      return false;
    }
    const answer = await this.firstOf('', signal, (window) => window.askWait(wait, signal)).catch((error: unknown) => {
      if (error instanceof EndpointFailure) {
        return null;
      }
      throw error;
    });
    return answer?.kind === 'wait';
  }

  /**
   * Creates a client that asks a chat model through any open window.
   * @param found the model that answered before, which the first request looks for; without it, the
   *   first model that matches
   * @throws C3Error if there is no window, no such model, no consent or no quota; CancelledError
   */
  async client(
    role: string,
    settings: EditorSettings,
    found: EndpointProbe | undefined,
    spending: Spending,
    signal: AbortSignal,
  ): Promise<{ readonly client: EndpointClient; readonly probe: EndpointProbe }> {
    const known = found?.served_as ?? null;
    let opened = known === null ? await this.choose(role, settings, null, signal) : null;
    const servedAs = known ?? (opened === null ? '' : formatEditorModelName(opened));
    const client = new EndpointClient({
      bases: [WINDOW],
      api: 'chat',
      keyOf: () => null,
      ...toClientLimits(settings),
      spending,
      servedAs,
      exchange: async (request, under) => {
        opened ??= await this.choose(role, settings, parseEditorModelName(servedAs), under);
        return this.exchange(role, opened, request, under);
      },
    });
    const probe = { seeds: 'none', logprobs: false, token_ids: false, length_key: 'max_tokens' } as const;
    return { client, probe: { ...probe, served_as: servedAs } };
  }

  private async choose(
    role: string,
    { vscode: model }: EditorSettings,
    known: EditorModelName | null,
    signal: AbortSignal,
  ): Promise<EditorOpened> {
    const answer = await this.firstOf(role, signal, (window) => window.open({ model, known, role }, signal)).catch(
      (error: unknown) => {
        throw error instanceof EndpointFailure ? createNoWindowError(role) : error;
      },
    );
    if (answer.kind === 'open') {
      return answer;
    }
    const wanted =
      known === null ? describeEditorModel(model) : ` (${formatEditorModelName(known)}, which answered before)`;
    throw createEditorFailureError(role, wanted, answer);
  }

  /** Returns the answer of the first window that has the model and stays open, or else the last answer. */
  private async firstOf<Answer extends { readonly kind: string }>(
    role: string,
    signal: AbortSignal,
    ask: (window: EditorModels) => Promise<Answer | EditorFailure>,
  ): Promise<Answer | EditorFailure> {
    let last: Answer | EditorFailure | null = null;
    const asked = new Set<EditorModels>();
    for (let window: EditorModels | undefined = await this.some(role, signal); window !== undefined;) {
      asked.add(window);
      const answer = await ask(window).catch((error: unknown) => {
        if (error instanceof WindowGone) {
          return null;
        }
        throw error;
      });
      last = answer ?? last;
      if (answer !== null && answer.kind !== 'missing') {
        return answer;
      }
      window = [...this.open].find((one) => !asked.has(one));
    }
    if (last === null) {
      throw new EndpointFailure('again', 'closed its window before it answered', { charged: true });
    }
    return last;
  }

  /** Sends one request, in the form of a request to a server. */
  private async exchange(
    role: string,
    { vendor, id, name }: EditorOpened,
    { body, timeLimit }: Exchange,
    signal: AbortSignal,
  ): Promise<Reply> {
    const parsed = bodySchema.safeParse(body);
    if (!parsed.success) {
      throw new EndpointFailure('refused', 'takes messages of text only');
    }
    const { messages, temperature, top_p: topP, max_tokens: maxNewTokens } = parsed.data;
    const question = { vendor, id, role, messages, temperature, topP, maxNewTokens };
    const answer = await this.firstOf(role, signal, (window) => answerInTime(window, question, timeLimit, signal));
    if (answer.kind === 'answer') {
      const { text, finish, prompt, completion } = answer;
      const usage = { prompt, completion };
      return {
        text,
        finish,
        usage,
        model: formatEditorModelName({ vendor, id }),
        tokens: null,
        promptTokens: null,
        logprobs: null,
      };
    }
    if (answer.kind === 'busy' || answer.kind === 'failed') {
      const what = answer.kind === 'busy' ? 'has too many requests' : 'failed';
      throw new EndpointFailure('again', `${what}: ${maskText(answer.words).text}`, {
        charged: answer.kind === 'failed',
      });
    }
    throw createEditorFailureError(role, ` (${name})`, answer);
  }

  /** Returns an open window, after waiting for one that may come back. */
  private async some(role: string, signal: AbortSignal): Promise<EditorModels> {
    if (!this.seen) {
      throw new C3Error(
        'input',
        `A chat model of VS Code answers for the role ${role}, and the command line has none; start this in VS Code, or name an endpoint in policies.${role}.`,
      );
    }
    const done = new AbortController();
    const over = sleep(this.wait, true, { signal: combineSignals(signal, done.signal) }).catch(() => true);
    try {
      for (;;) {
        const [window] = this.open;
        if (window !== undefined) {
          return window;
        }
        throwIfAborted(signal);
        const late = await Promise.race([this.arrived.promise, over]);
        if (late && this.open.size === 0) {
          throwIfAborted(signal);
          throw createNoWindowError(role);
        }
      }
    } finally {
      done.abort();
    }
  }
}

/** @throws EndpointFailure if the answer takes longer than the limit */
async function answerInTime(
  window: EditorModels,
  question: EditorQuestion,
  timeLimit: number,
  signal: AbortSignal,
): Promise<EditorAnswer | EditorFailure> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeLimit);
  try {
    return await window.answer(question, combineSignals(signal, late.signal));
  } catch (error) {
    if (error instanceof CancelledError && !signal.aborted) {
      throw new EndpointFailure('again', `did not answer within ${timeLimit / 1000} s`, { charged: true });
    }
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Formats a name with a slash, which a vendor cannot contain but an id can. */
const formatEditorModelName = ({ vendor, id }: EditorModelName): string => `${vendor}/${id}`;

function parseEditorModelName(text: string): EditorModelName {
  const slash = text.indexOf('/');
  return { vendor: text.slice(0, slash), id: text.slice(slash + 1) };
}

const createNoWindowError = (role: string): C3Error =>
  new C3Error(
    'engine',
    `A chat model of VS Code answers for the role ${role}, and no window of VS Code has this folder open; open it there, then resume the run or replay again.`,
  );

/** Creates the error of a failure that a retry cannot fix. @param model in parentheses, after a space */
function createEditorFailureError(role: string, model: string, { kind, words: given }: EditorFailure): C3Error {
  const words = maskText(given).text;
  const said = words === '' ? '' : `: ${words}`;
  switch (kind) {
    case 'missing':
      return new C3Error(
        'input',
        `VS Code offers no chat model for policies.${role}${model}; ${words === '' ? 'install or sign in to an extension that has some, or name' : `name one of those that it offers, ${words}, or`} an endpoint.`,
      );
    case 'consent':
      return new C3Error(
        'input',
        `C3 is not allowed to ask the chat model of the role ${role}${model}; allow it in VS Code (Manage Language Model Access in the menu of your account), then start again.`,
      );
    case 'quota':
      return new C3Error(
        'budget',
        `The quota of the chat model of the role ${role}${model} is used up, or it is blocked${said}; resume when there is quota again, or name another model.`,
      );
    case 'long':
      return new C3Error(
        'input',
        `The context of the role ${role} does not fit into its chat model${model}${said}; shorten prompts and questions, or name another model.`,
      );
    default:
      return new C3Error(
        'engine',
        `The chat model of the role ${role}${model} does not answer${said}; try again later.`,
      );
  }
}
