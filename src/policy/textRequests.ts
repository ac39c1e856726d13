/**
 * What the engine asks of the process that works with the tokenizer and the chat template of a folder, and how much of
 * it.
 */
import type { ErrorKind } from '../shared/errors.ts';
import type { TokenSpans } from '../shared/transcript/contextTokens.ts';
import type { RenderedContext } from '../team/render.ts';
import type { ChatMessage, ChatOptions, TemplateSource } from './chatTemplate.ts';
import type { Rendering } from './rendering.ts';
import type { TokenizerFacts, TokenizerFiles } from './tokenizer.ts';

/** What renders: a stored rendering of contexts, or the bare template of a folder. Known to the process by a number. */
export type Template =
  | { readonly kind: 'contexts'; readonly rendering: Rendering }
  | { readonly kind: 'chat'; readonly source: TemplateSource };

export type TextWork =
  | { readonly kind: 'facts' }
  | { readonly kind: 'encode'; readonly whole: boolean; readonly text: string }
  | { readonly kind: 'decode'; readonly whole: boolean; readonly ids: Int32Array }
  | { readonly kind: 'pieces'; readonly ids: Int32Array }
  | { readonly kind: 'spans'; readonly ids: Int32Array; readonly text: string }
  | { readonly kind: 'compile'; readonly template: number }
  | { readonly kind: 'context'; readonly template: number; readonly context: RenderedContext }
  | {
      readonly kind: 'chat';
      readonly template: number;
      readonly messages: readonly ChatMessage[];
      readonly options: ChatOptions;
    };

export type TextResult = TokenizerFacts | Int32Array | string | readonly string[] | TokenSpans | null;

/** To the process: what it needs first, then work in order. */
export type TextRequest =
  | { readonly kind: 'files'; readonly files: TokenizerFiles }
  | { readonly kind: 'template'; readonly number: number; readonly template: Template }
  | { readonly kind: 'work'; readonly items: readonly { readonly id: number; readonly work: TextWork }[] };

export interface TextFailure {
  readonly kind: ErrorKind;
  readonly message: string;
}

/** From the process: it serves, or what became of each piece of work. */
export type TextReply =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done';
      readonly items: readonly (
        | { readonly id: number; readonly result: TextResult }
        | { readonly id: number; readonly failure: TextFailure }
      )[];
    };

/** What one piece of work may take. */
export interface TextLimits {
  /** By the clock; loading a tokenizer is part of the first piece. */
  readonly seconds: number;
  /** Of the process's heap. */
  readonly megabytes: number;
}

/** Many times what the largest published tokenizer takes on a slow machine. */
export const TEXT_LIMITS: TextLimits = { seconds: 30, megabytes: 768 };
/** Characters of a text that is given back, or tokens of one: far more than any model reads. */
export const MOST_TEXT = 2 ** 22;
