/**
 * The messages between the engine and the process that runs the tokenizer and the chat template of
 * a folder, and their limits.
 */

import type { ErrorKind } from '../shared/errors.ts';
import type { TokenSpans } from '../shared/transcript/contextTokens.ts';
import type { RenderedContext } from '../team/render.ts';
import type { ChatMessage, ChatOptions, TemplateSource } from './chatTemplate.ts';
import type { Rendering } from './rendering.ts';
import type { TokenizerFacts, TokenizerFiles } from './tokenizer.ts';

/** A stored rendering of contexts, or a folder's template. The process knows it by a number. */
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

/** Messages to the process: the files and templates first, then work in order. */
export type TextRequest =
  | { readonly kind: 'files'; readonly files: TokenizerFiles }
  | { readonly kind: 'template'; readonly number: number; readonly template: Template }
  | { readonly kind: 'work'; readonly items: readonly { readonly id: number; readonly work: TextWork }[] };

export interface TextFailure {
  readonly kind: ErrorKind;
  readonly message: string;
}

/** Messages from the process: its readiness, or the results of work. */
export type TextReply =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'done';
      readonly items: readonly (
        | { readonly id: number; readonly result: TextResult }
        | { readonly id: number; readonly failure: TextFailure }
      )[];
    };

/** The limits of one piece of work. */
export interface TextLimits {
  /** Elapsed seconds. Loading a tokenizer is part of the first piece. */
  readonly seconds: number;
  /** The size of the process's heap. */
  readonly megabytes: number;
}

/** Many times what the largest published tokenizer takes on a slow machine. */
export const TEXT_LIMITS: TextLimits = { seconds: 30, megabytes: 768 };
/** The most characters of a returned text, or tokens of one. No model reads nearly as many. */
export const MOST_TEXT = 2 ** 22;
