/**
 * Runs a program of yours again and again for `c3 replay --team`: each time from its beginning, with what was said so
 * far answered from the log, until it asks for something that the log does not have. That is what is next.
 *
 * Import this before your own program: clients of OpenAI take their address from OPENAI_BASE_URL when they are made,
 * and every POST to a `/chat/completions` is answered here. No model is asked, and a tool that is wrapped by `wrapped`
 * runs only where its result is not in the log.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

process.env.OPENAI_BASE_URL = 'http://c3.invalid/v1';
process.env.OPENAI_API_KEY = 'c3-driver';
// Standard output has the answers; what a program prints goes where people read it.
console.log = console.info = console.debug = console.error;

const sessions = new AsyncLocalStorage();
const plainFetch = globalThis.fetch;

/** What stops a program once it is known what it asks for; it is no failure. */
class Stopped extends Error {}

/** One pass of a program through a log. */
export class Session {
  constructor(log) {
    this.entries = log.map((entry) => ({ ...entry, used: false }));
    this.prompts = new Map();
    this.answered = 0;
    this.answer = Promise.withResolvers();
    /** What the pass ended with. */
    this.outcome = null;
  }

  get isOver() {
    return this.outcome !== null;
  }

  /** Whether a log goes on from this one with the message that was asked for last. */
  leadsTo({ entries }) {
    const { length } = this.entries;
    const next = entries.slice(length).find(({ kind }) => kind === 'message');
    return (
      next !== undefined &&
      next.role === this.outcome?.next?.role &&
      this.entries.every((entry, index) => sameEntry(entry, entries[index]))
    );
  }

  /** Begins where a pass ended whose log leads to this one. */
  goOn({ entries, prompts, answered }) {
    this.prompts = prompts;
    this.answered = answered;
    for (const [index, { used }] of entries.entries()) {
      this.entries[index].used = used;
    }
  }

  /** What the log has of a role or a tool that was not used yet; undefined where that is beyond the log. */
  take(kind, name) {
    if (this.isOver) {
      throw new Stopped('This pass is over.');
    }
    const of = (entry) => entry.kind === kind && (kind === 'message' ? entry.role : entry.source) === name;
    const found = this.entries.find((entry) => !entry.used && of(entry));
    if (found !== undefined) {
      found.used = true;
      return found.text;
    }
    const [first] = this.entries.filter((entry) => !entry.used && entry.kind === 'message');
    if (first !== undefined) {
      this.end({ error: `the program asks ${name}, where the log has a message of ${first.role}` });
      throw new Stopped('The log has something else here.');
    }
    return undefined;
  }

  /** The role that a request names, or the number of its system prompt, as `c3 record` counts them. */
  roleOf(headers, messages) {
    const named = headers.get('x-c3-role')?.trim();
    if (named) {
      return named;
    }
    const system = messages
      .filter(({ role }) => role === 'system' || role === 'developer')
      .map(({ content }) => textOf(content));
    const hash = createHash('sha256').update(system.join('\n')).digest('base64');
    this.prompts.set(hash, this.prompts.get(hash) ?? this.prompts.size + 1);
    return `agent ${this.prompts.get(hash)}`;
  }

  end(answer) {
    this.outcome ??= answer;
    this.answer.resolve(answer);
  }
}

const sameEntry = (one, other) => ['kind', 'role', 'source', 'text'].every((key) => one[key] === other[key]);

const textOf = (content) =>
  typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('\n');

/**
 * A recorded text as the message that it was: lines at its end that call one of the tools are calls.
 * @param number of the message in its pass: frameworks take two of one id for the same one
 */
function messageOf(text, tools = [], number = 0) {
  const names = tools.flatMap((tool) => tool.function?.name ?? []);
  const lines = text.split('\n');
  const calls = [];
  for (let line = lines.at(-1); line !== undefined; line = lines.at(-1)) {
    const name = names.find((one) => line === one || line.startsWith(`${one} `));
    if (name === undefined) {
      break;
    }
    calls.unshift({ name, arguments: line.slice(name.length + 1) || '{}' });
    lines.pop();
  }
  return {
    role: 'assistant',
    content: calls.length > 0 && lines.length === 0 ? null : lines.join('\n'),
    ...(calls.length > 0 && {
      tool_calls: calls.map((call, index) => ({
        id: `call_${number}_${index}`,
        index,
        type: 'function',
        function: call,
      })),
    }),
  };
}

function completionOf(text, number, { model = 'recorded', stream = false, tools }) {
  const message = messageOf(text, tools, number);
  const finish = message.tool_calls ? 'tool_calls' : 'stop';
  const head = { id: `chatcmpl-c3-${number}`, created: 0, model };
  if (!stream) {
    const choices = [{ index: 0, message, finish_reason: finish, logprobs: null }];
    const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    return Response.json({ ...head, object: 'chat.completion', choices, usage });
  }
  const piece = (delta, reason) => {
    const choices = [{ index: 0, delta, finish_reason: reason }];
    return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices })}\n\n`;
  };
  const body = `${piece(message, null)}${piece({}, finish)}data: [DONE]\n\n`;
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

/** A refusal that no client asks again after. */
const stopped = () => Response.json({ error: { message: 'C3 stops the program here.', type: 'c3' } }, { status: 400 });

globalThis.fetch = async (input, init) => {
  const session = sessions.getStore();
  const request = session === undefined ? null : new Request(input, init);
  if (request === null) {
    return plainFetch(input, init);
  }
  const { pathname, hostname } = new URL(request.url);
  return pathname.endsWith('/chat/completions') || hostname === 'c3.invalid'
    ? ((await replyFrom(session, request)) ?? stopped())
    : plainFetch(input, init);
};

/**
 * What a program gets for a request to a model: what the log has, or a refusal.
 * @returns null where the log ends before: what is asked is next then, and the pass has ended with it
 */
export async function replyFrom(session, request) {
  const { pathname } = new URL(request.url);
  if (!pathname.endsWith('/chat/completions')) {
    session.end({ error: `the program calls ${pathname}; a driver answers /chat/completions only` });
    return stopped();
  }
  const body = await request.json().catch(() => null);
  if (body === null || typeof body !== 'object') {
    session.end({ error: 'the program asks with something that is no JSON' });
    return stopped();
  }
  const role = session.roleOf(request.headers, body.messages ?? []);
  try {
    const said = session.take('message', role);
    if (said !== undefined) {
      return completionOf(said, session.answered++, body);
    }
  } catch (error) {
    if (!(error instanceof Stopped)) {
      throw error;
    }
    return stopped();
  }
  session.end({ next: { kind: 'message', role, body } });
  return null;
}

/**
 * A function of a tool that runs only where the log does not have its result.
 * @param name as the model knows the tool
 * @param run gives the result, a text or what JSON can hold
 */
export const wrapped =
  (name, run) =>
  async (...given) => {
    const session = sessions.getStore();
    const known = session?.take('event', name);
    if (session === undefined || known !== undefined) {
      return known ?? run(...given);
    }
    const result = await run(...given);
    const text = typeof result === 'string' ? result : JSON.stringify(result ?? null);
    session.end({ next: { kind: 'event', source: name, text } });
    throw new Stopped('C3 stops the program here.');
  };

/**
 * Answers until its input ends.
 * @param program runs the program once for a question; it gives `{ text, return }`: what came out of it, and what that
 *   is worth where the program itself scores it
 */
export function drive(program) {
  passing((session, question) => sessions.run(session, () => program(question)));
}

/**
 * Answers until its input ends.
 * @param pass takes a program through a session's log, and gives what came out of it as `drive` does
 */
export function passing(pass) {
  const answerTo = async ({ id, question, log }) => {
    const session = new Session(log);
    const through = async () => {
      try {
        const { text = '', return: score = null } = (await pass(session, question)) ?? {};
        const left = session.entries.find(({ kind, used }) => kind === 'message' && !used);
        session.end(
          left === undefined
            ? { end: { text: String(text), return: score } }
            : { error: `the program ends, where the log has a message of ${left.role}` },
        );
      } catch (error) {
        // Where it is known what is next, the program was stopped and did not fail.
        session.end({ error: `the program failed: ${error instanceof Error ? error.message : String(error)}` });
      }
    };
    void through();
    process.stdout.write(`${JSON.stringify({ id, ...(await session.answer.promise) })}\n`);
  };
  createInterface({ input: process.stdin }).on('line', (line) => void answerTo(JSON.parse(line)));
}
