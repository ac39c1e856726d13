/**
 * The server in the process that runs the tokenizer and the chat template of a folder, which
 * anybody may have made. It also ends work that takes too long.
 */

import { join } from 'node:path';
import { Script } from 'node:vm';
import { C3Error, toErrorMessage } from '../shared/errors.ts';
import type { RenderedContext } from '../team/render.ts';
import { compileTemplate, type ChatTemplate } from './chatTemplate.ts';
import { createRenderer } from './rendering.ts';
import {
  MOST_TEXT,
  type Template,
  type TextFailure,
  type TextReply,
  type TextRequest,
  type TextResult,
  type TextWork,
} from './textRequests.ts';
import { TOKENIZER_FILE, createTokenizer, type LoadedTokenizer, type TokenizerFiles } from './tokenizer.ts';

type Render =
  | { readonly kind: 'contexts'; readonly render: (context: RenderedContext) => string }
  | { readonly kind: 'chat'; readonly chat: ChatTemplate };

/** The global name of the work that the script runs. */
const NAME = 'c3TextWork';
const script = new Script(`globalThis.${NAME}()`);

/**
 * Ends work that takes too long, including the matching of a regular expression, even without a
 * parent process.
 * @throws the errors of the work
 */
function runWithLimit(seconds: number, work: () => void): void {
  Object.defineProperty(globalThis, NAME, { configurable: true, value: work });
  try {
    script.runInThisContext({ timeout: Math.ceil(seconds * 1000) });
  } catch (error) {
    const timedOut = error instanceof Error && 'code' in error && error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    throw timedOut ? new Unusable(`took more than ${seconds} s`) : error;
  }
}

/** The error for an unusable result of a folder's files, without the name of the file. */
class Unusable extends Error {}

type Item = Extract<TextRequest, { kind: 'work' }>['items'][number];
type Answer = Extract<TextReply, { kind: 'done' }>['items'][number];

/** Does the requested work in order. */
export class TextServer {
  private files: TokenizerFiles | undefined;
  private tokenizer: LoadedTokenizer | undefined;
  private readonly templates = new Map<number, Template>();
  private readonly renders = new Map<number, Render>();
  private readonly seconds: number;
  private readonly send: (reply: TextReply) => void;

  /** @param seconds that a piece of work may take */
  constructor(seconds: number, send: (reply: TextReply) => void) {
    this.seconds = seconds;
    this.send = send;
  }

  receive(request: TextRequest): void {
    if (request.kind === 'files') {
      this.files = request.files;
    } else if (request.kind === 'template') {
      this.templates.set(request.number, request.template);
    } else {
      this.work(request.items);
    }
  }

  /** Does work under one shared time limit. After it, the next piece gets its own limit. */
  private work(items: readonly Item[]): void {
    for (let rest = items; rest.length > 0;) {
      const answers = this.together(rest);
      this.send({ kind: 'done', items: answers });
      rest = rest.slice(answers.length);
    }
  }

  /** Answers the first item, and more within the limits of time and message length. */
  private together(items: readonly Item[]): readonly Answer[] {
    const answers: Answer[] = [];
    try {
      runWithLimit(this.seconds, () => {
        let length = 0;
        for (const item of items) {
          const answer = this.attempt(item);
          answers.push(answer);
          length += 'result' in answer ? measureResult(answer.result) : 0;
          if (length > MOST_TEXT) {
            return;
          }
        }
      });
    } catch (error) {
      const [first] = items;
      if (answers.length === 0 && first !== undefined) {
        return [{ id: first.id, failure: this.failure(first.work, error) }];
      }
    }
    return answers;
  }

  private attempt({ id, work }: Item): Answer {
    try {
      return { id, result: checkResultLength(this.perform(work)) };
    } catch (error) {
      return { id, failure: this.failure(work, error) };
    }
  }

  private failure(work: TextWork, error: unknown): TextFailure {
    if (error instanceof C3Error) {
      return { kind: error.kind, message: error.message };
    }
    const what =
      error instanceof Unusable ? error.message : `failed: ${toErrorMessage(error).replace(/\s+/g, ' ').slice(0, 300)}`;
    return { kind: 'model', message: `${this.placeOf(work)}: ${what}; choose another model.` };
  }

  private placeOf(work: TextWork): string {
    const template = 'template' in work ? this.templates.get(work.template) : undefined;
    const path = template?.kind === 'chat' ? template.source.path : template?.rendering.template?.path;
    return path ?? join(this.files?.folder ?? '', TOKENIZER_FILE);
  }

  private perform(work: TextWork): TextResult {
    switch (work.kind) {
      case 'facts':
        return this.loaded().facts;
      case 'encode':
        return work.whole ? this.loaded().encodeWhole(work.text) : this.loaded().encode(work.text);
      case 'decode':
        return work.whole ? this.loaded().decodeWhole(work.ids) : this.loaded().decode(work.ids);
      case 'pieces':
        return this.loaded().pieces(work.ids);
      case 'spans':
        return this.loaded().spans(work.ids, work.text);
      case 'compile':
        this.render(work.template);
        return null;
      case 'context': {
        const render = this.render(work.template);
        return render.kind === 'contexts' ? render.render(work.context) : null;
      }
      case 'chat': {
        const render = this.render(work.template);
        return render.kind === 'chat' ? render.chat.render(work.messages, work.options) : null;
      }
    }
  }

  private loaded(): LoadedTokenizer {
    if (this.files === undefined) {
      throw new Error('Work with a tokenizer comes after its files.');
    }
    return (this.tokenizer ??= createTokenizer(this.files));
  }

  private render(number: number): Render {
    const known = this.renders.get(number);
    if (known !== undefined) {
      return known;
    }
    const template = this.templates.get(number);
    if (template === undefined) {
      throw new Error('Work with a template comes after it.');
    }
    const render: Render =
      template.kind === 'chat'
        ? { kind: 'chat', chat: compileTemplate(template.source) }
        : { kind: 'contexts', render: createRenderer(template.rendering) };
    this.renders.set(number, render);
    return render;
  }
}

/**
 * Checks the length of a result.
 * @throws Unusable if it is too long
 */
function checkResultLength(result: TextResult): TextResult {
  const length = measureResult(result);
  if (length > MOST_TEXT) {
    throw new Unusable(
      `made ${length} ${result instanceof Int32Array ? 'tokens' : 'characters'} of a text, more than the ${MOST_TEXT} that are supported`,
    );
  }
  return result;
}

function measureResult(result: TextResult): number {
  if (result === null) {
    return 0;
  }
  if (typeof result === 'string' || result instanceof Int32Array) {
    return result.length;
  }
  const pieces =
    'spans' in result ? result.spans.map(({ text }) => text) : 'controls' in result ? result.controls : result;
  return pieces.reduce((total, piece) => total + piece.length, 0);
}
