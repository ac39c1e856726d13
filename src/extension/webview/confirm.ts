/**
 * The host's own question before something that a page asked for has an effect beyond its panel: what a page draws, its
 * user may not have clicked.
 */
import { window } from 'vscode';
import { withoutLinks } from '../common/plainText.ts';

/** One question at a time: a page that asks again and again covers nothing with them. */
let asking = false;

/**
 * Asks in a dialog of the editor.
 * @param action the word on the button that confirms
 * @param detail what it is about, where the question does not hold it
 * @returns false where it was not confirmed, or another question is open
 */
export async function confirmed(question: string, action: string, detail?: string): Promise<boolean> {
  if (asking) {
    return false;
  }
  asking = true;
  try {
    const options = { modal: true, ...(detail !== undefined && { detail: withoutLinks(detail) }) };
    return (await window.showInformationMessage(withoutLinks(question), options, action)) === action;
  } finally {
    asking = false;
  }
}
