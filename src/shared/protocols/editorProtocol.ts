/** Requests of an engine to a window: for the chat models that VS Code offers there, and for its user's decisions. */

import { RequestType } from 'vscode-jsonrpc';
import type { LongWait } from '../longWait.ts';
import type { EditorModel } from '../rolePolicies.ts';

/** A chat model by its unique names. */
export interface EditorModelName {
  readonly vendor: string;
  readonly id: string;
}

export interface EditorOpenParams {
  /** The requested model. */
  readonly model: EditorModel;
  /** The model that answered before and must answer again, or null if there is none. */
  readonly known: EditorModelName | null;
  /** The role that it answers for, shown when the user is asked for consent. */
  readonly role: string;
}

/** A model that may be asked. */
export interface EditorOpened extends EditorModelName {
  readonly kind: 'open';
  /** The name that VS Code shows. */
  readonly name: string;
}

export interface EditorQuestion extends EditorModelName {
  readonly role: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly temperature: number;
  readonly topP: number;
  /** Most tokens of the answer. */
  readonly maxNewTokens: number;
}

export interface EditorAnswer {
  readonly kind: 'answer';
  readonly text: string;
  readonly finish: 'end' | 'length';
  /** Tokens, as counted by the model. */
  readonly prompt: number;
  readonly completion: number;
}

/**
 * The reason why there is no answer. missing: no such model. consent: the user does not allow it.
 * quota: its quota is used up, or it is blocked. busy: too many requests. long: the context does not
 * fit. failed: the model itself failed.
 */
export type EditorFailureKind = 'missing' | 'consent' | 'quota' | 'busy' | 'long' | 'failed';

export interface EditorFailure {
  readonly kind: EditorFailureKind;
  /** One line from VS Code or the model. For a missing model, the list of available ones. */
  readonly words: string;
}

/**
 * Chooses a model and checks that it may be asked, for which VS Code may ask the user. Both requests
 * return failures as data and honor cancellation.
 */
export const EditorOpenRequest = new RequestType<EditorOpenParams, EditorOpened | EditorFailure, void>('editor/open');
export const EditorAnswerRequest = new RequestType<EditorQuestion, EditorAnswer | EditorFailure, void>('editor/answer');

/** The user's decision on a long wait for a server. */
export interface EditorDecision {
  readonly kind: 'wait' | 'stop';
}

/** Asks the user to confirm a wait that a server asks for. */
export const EditorWaitRequest = new RequestType<LongWait, EditorDecision | EditorFailure, void>('editor/wait');

/** The requests that a window answers. */
export interface EditorModels {
  readonly open: (params: EditorOpenParams, signal: AbortSignal) => Promise<EditorOpened | EditorFailure>;
  readonly answer: (question: EditorQuestion, signal: AbortSignal) => Promise<EditorAnswer | EditorFailure>;
  readonly askWait: (wait: LongWait, signal: AbortSignal) => Promise<EditorDecision | EditorFailure>;
}
