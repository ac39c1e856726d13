/**
 * The rendering of contexts for a model: through its own chat template, or as plain text. It is
 * plain data, which a run's row stores, together with the function that it represents.
 */

import { join } from 'node:path';
import { z } from 'zod';
import { C3Error, CancelledError, toErrorMessage } from '../shared/errors.ts';
import type { Protocol } from '../team/protocol.ts';
import {
  renderPlainMessages,
  toPromptMessages,
  renderContext,
  type PromptMessage,
  type RenderedContext,
  type Renderer,
} from '../team/render.ts';
import { compileTemplate, readTemplate } from './chatTemplate.ts';
import { TOKENIZER_FILE, type Tokenizer } from './tokenizer.ts';

export interface ChatSettings {
  /** auto: the model folder's template, if it has one; none: plain text. */
  readonly template: 'auto' | 'none';
  /** Lets a model that can reason in tags do so. */
  readonly thinking: boolean;
}

export const renderingSchema = z.object({
  /** The template as the folder had it, or null for plain text. */
  template: z
    .object({ path: z.string(), text: z.string(), variables: z.record(z.string(), z.string()), thinking: z.boolean() })
    .nullable(),
  /** Texts that the tokenizer takes for control tokens. */
  controls: z.array(z.string().min(1)),
});
export type Rendering = z.infer<typeof renderingSchema>;

/** Breaks a control token in a text: zero-width joiner, which every normal form keeps. */
const JOINER = '\u200d';
const SINGLE = /^.$/su;
/** The opening of a reasoning part at the end of a prompt. */
const OPEN_REASONING = /<think>\s*$/;

/** Limits for rendering in this thread: control tokens, and characters of one. */
const FEW_CONTROLS = 64;

/**
 * Returns true if contexts are plain text with few control tokens, so that the work is bounded by
 * the length of the context.
 */
export const isSimpleRendering = ({ template, controls }: Rendering): boolean =>
  template === null &&
  controls.length <= FEW_CONTROLS &&
  controls.every(({ length }) => length > 0 && length <= FEW_CONTROLS);

/** Advice if a template cannot be used. */
const INSTEAD = 'choose another model, or set chat.template to none';

/**
 * Reads the rendering of contexts for a model folder.
 * @throws C3Error('model') that names the file
 */
export async function readRendering(
  folder: string,
  { controls }: Pick<Tokenizer, 'controls'>,
  { template, thinking }: ChatSettings,
): Promise<Rendering> {
  // A joiner inside such a text would not break it.
  const unbreakable = controls.find((text) => SINGLE.test(text) || text.includes(JOINER));
  if (unbreakable !== undefined) {
    throw new C3Error(
      'model',
      `${join(folder, TOKENIZER_FILE)}: the special token ${JSON.stringify(unbreakable).slice(0, 80)} cannot be distinguished from the same text inside a message; choose a model without it.`,
    );
  }
  const source = template === 'auto' ? await readTemplate(folder) : null;
  return { template: source === null ? null : { ...source, thinking }, controls: [...controls] };
}

/**
 * Returns the function of a rendering in this thread, which a template blocks while it runs. A chat
 * is an explicit system message (the role's prompt), one user message and the opening of the
 * assistant's turn. A token that begins the text is part of the template and is not added again.
 * @param rendering null for a run that was stored before renderings existed: plain text as it is
 * @throws C3Error('model') if the template is invalid; the function throws if the template refuses
 *   the messages
 */
export function createRenderer(rendering: Rendering | null): (context: RenderedContext) => string {
  const render = createMessageRenderer(rendering);
  return (context) => render(toPromptMessages(context));
}

/** Returns the same function for messages, as a request has them. */
export function createMessageRenderer(rendering: Rendering | null): (messages: readonly PromptMessage[]) => string {
  if (rendering === null) {
    return renderPlainMessages;
  }
  const { template, controls } = rendering;
  if (template === null) {
    return (messages) => breakControls(renderPlainMessages(messages), controls);
  }
  const chat = compileTemplate(template);
  return (messages) => {
    const broken = messages.map(({ role, content }) => ({ role, content: breakControls(content, controls) }));
    return chat.render(broken, { thinking: template.thinking });
  };
}

/**
 * Breaks every control token in content. A joiner after the first character of each keeps the words
 * readable and is part of the context's bytes, so tokens remain a function of the stored text.
 * Encoding content apart from the template would require storing the places of both.
 */
export function breakControls(text: string, controls: readonly string[]): string {
  const places = new Set<number>();
  for (const control of controls) {
    const [first = ''] = control;
    for (let at = text.indexOf(control); at >= 0; at = text.indexOf(control, at + 1)) {
      places.add(at + first.length);
    }
  }
  const ordered = [...places].sort((a, b) => a - b);
  return [0, ...ordered].map((start, index) => text.slice(start, ordered[index])).join(JOINER);
}

/**
 * Renders every role's prompt once, so that an unusable template is refused before a run begins.
 * @param render the function of the rendering
 * @param reads returns true if a role uses this rendering
 * @throws C3Error('model') in one sentence: the template raises, drops a prompt, or reasons unasked
 */
export async function checkRendering(
  rendering: Rendering,
  protocol: Protocol,
  render: Renderer,
  reads: (role: string) => boolean = () => true,
): Promise<void> {
  const { template, controls } = rendering;
  if (template === null) {
    return;
  }
  for (const { role, position, ancestors } of protocol.occurrences.filter((one) => reads(one.role))) {
    const context = renderContext(
      protocol,
      position,
      'How many?',
      new Map(ancestors.map((ancestor) => [ancestor, 'Three.'])),
    );
    const refused = (what: string, advice: string): C3Error =>
      new C3Error('model', `The role ${role} cannot ask this model: ${what.replace(/\.$/, '')}; ${advice}.`);
    let text: string;
    try {
      text = await render(context);
    } catch (error) {
      if (error instanceof CancelledError) {
        throw error;
      }
      throw refused(toErrorMessage(error), INSTEAD);
    }
    if (![context.system, context.user].every((part) => text.includes(breakControls(part, controls).trim()))) {
      throw refused(`${template.path}: the chat template leaves out the prompt or the question`, INSTEAD);
    }
    if (!template.thinking && OPEN_REASONING.test(text)) {
      throw refused(
        `${template.path}: the chat template opens a reasoning part though chat.thinking is false`,
        'set it to true, or choose another model',
      );
    }
  }
}
