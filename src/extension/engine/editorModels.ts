/** Lets the engine ask the chat models of VS Code and the user, over its connection. */

import {
  CancellationTokenSource,
  LanguageModelChatMessage,
  lm,
  window,
  type CancellationToken,
  type ExtensionContext,
  type LanguageModelChat,
  type LanguageModelChatSelector,
} from 'vscode';
import { unlessCancelled } from '../../shared/cancellation.ts';
import { writeWaitQuestion } from '../../shared/longWait.ts';
import type { EditorModels } from '../../shared/protocols/editorProtocol.ts';
import type { EditorModel } from '../../shared/rolePolicies.ts';
import { ChatModels } from './chatModels.ts';

export function createEditorModels({ languageModelAccessInformation: access }: ExtensionContext): EditorModels {
  const models = new ChatModels<LanguageModelChatMessage, CancellationToken, LanguageModelChat>({
    select: async (model) => lm.selectChatModels(toModelSelector(model)),
    canAsk: (model) => access.canSendRequest(model),
    user: (text) => LanguageModelChatMessage.User(text),
    assistant: (text) => LanguageModelChatMessage.Assistant(text),
    cancellation: () => new CancellationTokenSource(),
  });
  return {
    open: (params, signal) => models.open(params, signal),
    answer: (question, signal) => models.answer(question, signal),
    askWait: async (wait, signal) => {
      const asked = Promise.resolve(window.showWarningMessage(writeWaitQuestion(wait), WAIT, STOP));
      return { kind: (await unlessCancelled(asked, signal)) === WAIT ? 'wait' : 'stop' };
    },
  };
}

const [WAIT, STOP] = ['Wait', 'Stop'];

/** Returns a selector without undefined keys. */
const toModelSelector = ({ vendor, family, version, id }: EditorModel): LanguageModelChatSelector => ({
  ...(vendor !== undefined && { vendor }),
  ...(family !== undefined && { family }),
  ...(version !== undefined && { version }),
  ...(id !== undefined && { id }),
});
