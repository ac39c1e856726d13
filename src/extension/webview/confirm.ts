/**
 * Asks for confirmation before a request of a page has an effect outside its panel. The user may not
 * have made that request.
 */

import { window } from 'vscode';
import { withoutLinks } from '../common/plainText.ts';

/** True while a question is open. Only one is shown at a time, so that a page cannot flood the user. */
let asking = false;

/**
 * Asks in a modal dialog of the editor.
 * @param action the label of the button that confirms
 * @param detail further text below the question
 * @returns false if the user declined or another question is open
 */
export async function askForConfirmation(question: string, action: string, detail?: string): Promise<boolean> {
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
