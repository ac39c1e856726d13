/**
 * The controls of the webview toolkit. Only this file imports the toolkit, so that it can be replaced.
 * The pages use plain HTML elements for controls that the toolkit does not have (search fields,
 * numbers, sliders, progress bars, buttons that look like links), for buttons that stay pressed,
 * because the toolkit's button does not hand on `aria-pressed`, and in rows and charts, of which there
 * may be hundreds.
 */

import {
  Button,
  Checkbox,
  Dropdown,
  Option,
  provideVSCodeDesignSystem,
  TextArea,
  TextField,
  vsCodeButton,
  vsCodeCheckbox,
  vsCodeDivider,
  vsCodeDropdown,
  vsCodeOption,
  vsCodeTextArea,
  vsCodeTextField,
} from '@vscode/webview-ui-toolkit';
import { append, h, setAttributes, type Attributes, type Child } from './dom.ts';

provideVSCodeDesignSystem().register(
  vsCodeButton(),
  vsCodeCheckbox(),
  vsCodeDivider(),
  vsCodeDropdown(),
  vsCodeOption(),
  vsCodeTextArea(),
  vsCodeTextField(),
);

export type { Button, Checkbox, Dropdown, Option, TextArea, TextField };

/** Creates a button. Use `primary` only for the main action of a panel. */
export function button(
  label: string,
  onClick: () => void,
  options: { readonly primary?: boolean; readonly title?: string } = {},
): Button {
  const element = createControl(
    'vscode-button',
    Button,
    { appearance: options.primary === true ? 'primary' : 'secondary', title: options.title ?? null },
    label,
  );
  element.addEventListener('click', onClick);
  return element;
}

/** Creates a one-line text field with its label. */
export function textField(label: string, attributes: Attributes = {}): TextField {
  return createControl('vscode-text-field', TextField, attributes, label);
}

/** Creates a small button that shows a sign. @param label the tooltip and accessible name */
export function iconButton(sign: string, label: string, onClick: () => void): Button {
  const element = createControl(
    'vscode-button',
    Button,
    { appearance: 'icon', 'aria-label': label, title: label },
    sign,
  );
  element.addEventListener('click', onClick);
  return element;
}

/** Creates a check box with its label. */
export function checkbox(label: Child, checked: boolean, title: string | null = null): Checkbox {
  const element = createControl('vscode-checkbox', Checkbox, { title }, label);
  element.checked = checked;
  return element;
}

/** Creates a text field of several lines with its label. */
export function textArea(label: string, attributes: Attributes = {}): TextArea {
  return createControl('vscode-text-area', TextArea, attributes, label);
}

/** Creates a dropdown. Use `Chooser`, which sets its options and hears of choices. */
export function dropdown(label: string): Dropdown {
  return createControl('vscode-dropdown', Dropdown, { 'aria-label': label });
}

/** Creates an option of a dropdown. */
export function option(value: string, label: string): Option {
  return createControl('vscode-option', Option, { value }, label);
}

/**
 * Creates a ring that turns, in a few steps, while work of unknown length is in progress. The
 * toolkit's own ring is redrawn at every frame, which without a graphics processor slows the work
 * itself.
 */
export function progressRing(label: string): HTMLElement {
  return h('span', { class: 'ring', role: 'progressbar', 'aria-label': label });
}

/** Creates a line between two parts. */
export function divider(): HTMLElement {
  // The control sets aria-orientation, which is allowed only on a separator.
  return createControl('vscode-divider', HTMLElement, { role: 'separator' });
}

function createControl<T extends HTMLElement>(
  tag: string,
  type: new () => T,
  attributes: Attributes,
  ...children: readonly Child[]
): T {
  const element = document.createElement(tag);
  if (!(element instanceof type)) {
    throw new Error(`The control ${tag} is not registered.`);
  }
  setAttributes(element, attributes);
  append(element, children);
  return element;
}
