/**
 * The controls of the webview toolkit. The only file that imports it, so that it can be replaced. Elements of the
 * browser stay where the toolkit has no such control (search fields, numbers, sliders, buttons that look like links),
 * in rows and charts, of which there may be hundreds, and in the filters of episodes and transcripts.
 */
import {
  Button,
  Checkbox,
  Dropdown,
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

export type { Button, Checkbox, Dropdown, TextArea, TextField };

/** A button; the secondary look unless it is the panel's main action. */
export function button(
  label: string,
  onClick: () => void,
  options: { readonly primary?: boolean; readonly title?: string } = {},
): Button {
  const element = create(
    'vscode-button',
    Button,
    { appearance: options.primary === true ? 'primary' : 'secondary', title: options.title ?? null },
    label,
  );
  element.addEventListener('click', onClick);
  return element;
}

/** A one-line field with its label. */
export function textField(label: string, attributes: Attributes = {}): TextField {
  return create('vscode-text-field', TextField, attributes, label);
}

/** A small button that shows a sign. @param label what it does, in words */
export function iconButton(sign: string, label: string, onClick: () => void): Button {
  const element = create('vscode-button', Button, { appearance: 'icon', 'aria-label': label, title: label }, sign);
  element.addEventListener('click', onClick);
  return element;
}

/** A box to tick with its label. */
export function checkbox(label: Child, checked: boolean, title: string | null = null): Checkbox {
  const element = create('vscode-checkbox', Checkbox, { title }, label);
  element.checked = checked;
  return element;
}

/** A field of several lines with its label. */
export function textArea(label: string, attributes: Attributes = {}): TextArea {
  return create('vscode-text-area', TextArea, attributes, label);
}

/** A chooser; `onChange` gets the value chosen by the user. */
export function dropdown(label: string, onChange: (value: string) => void): Dropdown {
  const element = create('vscode-dropdown', Dropdown, { 'aria-label': label });
  element.addEventListener('change', () => onChange(element.value));
  return element;
}

/** One choice of a dropdown. */
export function option(value: string, label: string): HTMLElement {
  return create('vscode-option', HTMLElement, { value }, label);
}

/**
 * Turns while work of unknown length is in progress, in a few steps: the toolkit's own ring is drawn anew at every
 * frame, which without a graphics processor takes the time of the work that it is there for.
 */
export function progressRing(label: string): HTMLElement {
  return h('span', { class: 'ring', role: 'progressbar', 'aria-label': label });
}

/** A line between two parts. */
export function divider(): HTMLElement {
  // The control says by itself which way it runs, which only a separator may.
  return create('vscode-divider', HTMLElement, { role: 'separator' });
}

function create<T extends HTMLElement>(
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
