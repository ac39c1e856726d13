/** The form that requests a replay of a message and shows its progress. */

import { MAX_EVENT_TEXT } from '../../../src/domain/episode.ts';
import { AS_RECORDED, type ContinuationChoice } from '../../../src/domain/replay.ts';
import { DRAFT_LIMITS } from '../../../src/shared/protocols/replayDraft.ts';
import {
  MAX_ALTERNATIVES,
  MAX_REPLAYS,
  type MessageDetail,
  type ReplayDefaults,
  type ReplayState,
} from '../../../src/shared/protocols/transcriptProtocol.ts';
import { focusedIn, h } from '../../common/dom.ts';
import {
  button,
  checkbox,
  progressRing,
  textArea,
  textField,
  type Button,
  type Checkbox,
  type TextArea,
  type TextField,
} from '../../common/toolkit.ts';
import { ContinueWith } from './continueWith.ts';
import { hasSameFields, type ReplayFields } from './drafts.ts';
import { parseCount, describeReplayProgress } from './replayWords.ts';

export interface ReplayRequest {
  readonly alternatives: number;
  readonly replays: number;
  readonly text: string | null;
  readonly independent: boolean;
  readonly continuation: ContinuationChoice;
  /** Another result of the tool that the message called. With it, no alternatives are sampled. */
  readonly result?: string;
}

/** Events of the form. */
export interface ReplayFormEvents {
  replay(message: number, request: ReplayRequest): void;
  cancelReplay(): void;
  /** Executes the message's replays again and compares. */
  verify(message: number): void;
  /** Asks the user for the folder of another model. */
  chooseModel(): void;
  /** The unsent fields changed; null if they have their initial values. */
  draft(message: number, fields: ReplayFields | null): void;
}

/** Returns the initial text of the user's own message: the message, if it fits the field. */
const initialOwnText = (text: string): string => (text.length > DRAFT_LIMITS.text ? '' : text);

export class ReplayForm {
  readonly element: HTMLElement;
  private readonly alternatives: TextField;
  private readonly replays: TextField;
  private readonly typed: TextArea;
  private readonly common: Checkbox;
  private readonly start: Button;
  private readonly own: Button;
  /** The button that started the last replay. */
  private starter: Button;
  private readonly verify: Button;
  private readonly fault = h('p', { class: 'problem', role: 'alert' });
  private readonly words = h('span', { role: 'status' });
  private readonly ring = progressRing('Replaying');
  private readonly cancel: Button;
  private readonly typedPart: HTMLDetailsElement;
  private readonly offered: ReplayFields;
  private readonly message: number;
  private readonly events: ReplayFormEvents;
  private readonly continuation: ContinueWith;
  private running = false;
  /** The error of the last replay of this message, as shown. */
  private failure = '';
  private restoring = false;

  constructor(
    defaults: ReplayDefaults,
    { own, snapshots, result, message }: Pick<MessageDetail, 'own' | 'snapshots' | 'result' | 'message'>,
    events: ReplayFormEvents,
  ) {
    this.message = message.id;
    this.events = events;
    this.alternatives = textField('Alternatives', { size: 4, inputmode: 'numeric', value: defaults.alternatives });
    this.replays = textField('Replays each', { size: 4, inputmode: 'numeric', value: defaults.replays });
    this.typed = textArea('Your own message', { rows: 3, resize: 'vertical', maxlength: DRAFT_LIMITS.text });
    this.offered = {
      alternatives: String(defaults.alternatives),
      replays: String(defaults.replays),
      text: initialOwnText(message.text),
      independent: false,
      snapshot: null,
      temperature: '',
      model: '',
    };
    this.common = checkbox(
      'Common random numbers',
      true,
      'Replay m of every alternative draws the same random numbers: differences between alternatives vary less. Off: each alternative draws its own.',
    );
    this.verify = button('Verify replay', () => events.verify(message.id), {
      title: 'Execute the stored replays of this message again and compare them (V)',
    });
    this.verify.hidden = true;
    const submit = (): void => {
      const request = this.running ? null : this.read();
      if (request === null) {
        return;
      }
      this.starter = this.start;
      events.replay(this.message, request);
      events.draft(this.message, null);
    };
    this.continuation = new ContinueWith(own, snapshots, {
      chooseModel: () => events.chooseModel(),
      submit,
      changed: () => this.keep(),
    });
    this.start = button('Replay alternatives', submit, {
      primary: true,
      title: 'Sample other messages from the same frozen context (R)',
    });
    this.starter = this.start;
    this.cancel = button('Cancel', () => events.cancelReplay());
    for (const field of [this.alternatives, this.replays]) {
      field.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') {
          submit();
        }
      });
    }
    this.typed.value = this.offered.text;
    this.own = button('Replay my message', () => this.replayOwn(), {
      title: 'Continue what is written here, from the same frozen context',
    });
    this.typedPart = h('details', { class: 'typed' }, h('summary', {}, 'Try your own message'), this.typed, this.own);
    this.element = h(
      'section',
      { class: 'replay', 'aria-label': 'Replay' },
      defaults.unavailable === null
        ? h('div', { class: 'fields' }, this.alternatives, this.replays, this.common, this.start, this.verify)
        : h('p', { class: 'muted' }, defaults.unavailable),
      defaults.unavailable === null ? this.typedPart : null,
      defaults.unavailable === null ? this.continuation.element : null,
      defaults.unavailable === null && result !== undefined
        ? createOtherResultForm(result, (text) => this.replay({ alternatives: 0, text: null, result: text }))
        : null,
      this.fault,
      h('div', { class: 'progress' }, this.ring, this.words, this.cancel),
    );
    for (const event of ['input', 'change']) {
      this.element.addEventListener(event, () => this.keep());
    }
    // If no alternatives can be sampled, only the user's own message can be replayed.
    const isAlone = defaults.alternatives === 0;
    this.alternatives.hidden = isAlone;
    this.start.hidden = isAlone;
    this.typedPart.open = isAlone;
    this.show(null, false);
  }

  /** Restores a draft. The form must be on the page. */
  restore(fields: ReplayFields): void {
    // Some controls fire input events when their value is set.
    this.restoring = true;
    this.alternatives.value = fields.alternatives;
    this.replays.value = fields.replays;
    this.typed.value = fields.text;
    this.common.checked = !fields.independent;
    this.typedPart.open = this.offered.alternatives === '0' || fields.text !== this.offered.text;
    this.continuation.restore(fields);
    this.restoring = false;
  }

  /** Shows the button that verifies replays. */
  allowVerification(): void {
    this.verify.hidden = false;
  }

  /** Starts a replay, or focuses the user's own message if alternatives cannot be sampled. */
  submit(): void {
    if (this.offered.alternatives === '0') {
      this.typed.focus();
    } else if (!this.running) {
      this.start.click();
    }
  }

  /** Replays with an empty message, as recorded, with the number of replays in the field. */
  removeMessage(): void {
    this.replay({ alternatives: 0, text: '' });
  }

  private replay(asked: Pick<ReplayRequest, 'alternatives' | 'text' | 'result'>): void {
    const replays = parseCount('Replays each', this.replays.value, 1, MAX_REPLAYS);
    this.fault.textContent = typeof replays === 'string' ? replays : '';
    if (!this.running && typeof replays !== 'string') {
      const independent = !this.common.checked;
      this.events.replay(this.message, { ...asked, replays, independent, continuation: AS_RECORDED });
    }
  }

  /** Replays alternatives as recorded, with the numbers in the fields. */
  submitAsRecorded(): void {
    const request = this.read();
    if (!this.running && request !== null) {
      this.events.replay(this.message, {
        ...request,
        alternatives: Math.max(1, request.alternatives),
        continuation: AS_RECORDED,
      });
    }
  }

  /** Sets the model folder that was chosen. */
  setModel(folder: string): void {
    this.continuation.setModel(folder);
  }

  /**
   * Shows the progress of a replay. The cancel button is never recreated, because it may be pressed or
   * focused. If the focused button starts a replay, the focus moves to the cancel button, and back at
   * the end.
   * @param here true if the replay is of the message in this pane
   */
  show(state: ReplayState | null, here: boolean): void {
    const failed = this.running && here && state?.status === 'failed';
    const started = !this.running && state?.status === 'running';
    const failure = state !== null && here && state.status === 'failed' ? (state.error ?? 'The replay failed.') : '';
    this.running = state?.status === 'running';
    // An error about a field stays while other things change.
    if (started || failure !== this.failure) {
      this.fault.textContent = failure;
    }
    this.failure = failure;
    // The progress of settling this message is shown beside the settle button instead.
    const settling = here && state !== null && state.settle !== null;
    const words = settling ? '' : describeReplayProgress(state, here);
    if (this.words.textContent !== words) {
      this.words.textContent = words;
    }
    this.words.classList.toggle('muted', !this.running);
    this.ring.hidden = !this.running || settling;
    if (this.running) {
      this.cancel.hidden = settling;
      if (focusedIn(this.start) !== null || focusedIn(this.own) !== null) {
        this.cancel.focus();
      }
      this.start.disabled = true;
      this.own.disabled = true;
    } else {
      this.start.disabled = false;
      this.own.disabled = false;
      // A button that was disabled can be focused only after the next frame.
      if (focusedIn(this.cancel) !== null) {
        requestAnimationFrame(() => this.end());
      } else {
        this.cancel.hidden = true;
      }
    }
    // Keeps the fields of a failed replay as a draft: the user may want to try again.
    if (failed && !settling) {
      this.keep();
    }
  }

  private end(): void {
    if (this.running) {
      return;
    }
    if (focusedIn(this.cancel) !== null) {
      this.starter.focus();
    }
    this.cancel.hidden = true;
  }

  private keep(): void {
    if (this.restoring) {
      return;
    }
    const fields = {
      alternatives: this.alternatives.value,
      replays: this.replays.value,
      text: this.typed.value,
      independent: !this.common.checked,
      ...this.continuation.fields,
    };
    this.events.draft(this.message, hasSameFields(fields, this.offered) ? null : fields);
  }

  /** Replays the user's own message with the settings of the form. */
  private replayOwn(): void {
    const request = this.running ? null : this.read(0);
    if (request === null) {
      return;
    }
    if (this.typed.value === this.offered.text) {
      this.fault.textContent = 'Your own message: change the text first; it is the same as the recorded message.';
      return;
    }
    this.starter = this.own;
    this.events.replay(this.message, { ...request, alternatives: 0, text: this.typed.value });
    this.events.draft(this.message, null);
  }

  /**
   * Reads the fields. Shows an error and returns null if one is invalid.
   * @param least smallest number of alternatives
   */
  private read(least = 1): ReplayRequest | null {
    const alternatives = parseCount('Alternatives', this.alternatives.value, least, MAX_ALTERNATIVES);
    const replays = parseCount('Replays each', this.replays.value, 1, MAX_REPLAYS);
    const continuation = this.continuation.read();
    const wrong = [alternatives, replays, continuation].find((value) => typeof value === 'string');
    this.fault.textContent = typeof wrong === 'string' ? wrong : '';
    if (typeof alternatives === 'string' || typeof replays === 'string' || typeof continuation === 'string') {
      return null;
    }
    return { alternatives, replays, text: null, independent: !this.common.checked, continuation };
  }
}

/**
 * Creates the form in which the recorded result of a tool can be edited and replayed.
 * @param replay receives the edited result
 */
function createOtherResultForm(
  { source, text }: { readonly source: string; readonly text: string },
  replay: (text: string) => void,
): HTMLElement {
  const field = textArea(`Result of ${source}`, { rows: 3, resize: 'vertical', maxlength: MAX_EVENT_TEXT });
  field.value = text;
  const start = button('Replay with this result', () => replay(field.value), {
    title: 'Continue the message with this result, and with the recorded one beside it',
  });
  return h('details', { class: 'typed' }, h('summary', {}, `Try another result of ${source}`), field, start);
}
