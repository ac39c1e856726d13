/** Asks for a replay of one message and shows how far it is. */
import { AS_RECORDED, type ContinuationChoice } from '../../src/shared/continuation.ts';
import { MAX_ALTERNATIVES, MAX_REPLAYS, type MessageDetail, type ReplayDefaults, type ReplayState } from '../../src/shared/transcriptProtocol.ts';
import { h, replace } from '../common/dom.ts';
import { count } from '../common/format.ts';
import { button, checkbox, progressRing, textArea, textField, type Button, type Checkbox, type TextArea, type TextField } from '../common/toolkit.ts';
import { ContinueWith } from './continueWith.ts';
import { parseCount } from './replayWords.ts';

export interface ReplayRequest {
  readonly alternatives: number;
  readonly replays: number;
  readonly text: string | null;
  readonly independent: boolean;
  readonly continuation: ContinuationChoice;
}

export interface ReplayFormEvents {
  start(request: ReplayRequest): void;
  cancel(): void;
  verify(): void;
  /** Ask for the folder of another model. */
  chooseModel(): void;
}

export class ReplayForm {
  readonly element: HTMLElement;
  private readonly alternatives: TextField;
  private readonly replays: TextField;
  private readonly typed: TextArea;
  private readonly common: Checkbox;
  private readonly start: Button;
  private readonly verify: Button;
  private readonly problem = h('p', { class: 'problem', role: 'alert' });
  private readonly progress = h('div', { class: 'progress', role: 'status' });
  private readonly events: ReplayFormEvents;
  private readonly continuation: ContinueWith;
  private running = false;

  constructor(defaults: ReplayDefaults, { own, snapshots }: Pick<MessageDetail, 'own' | 'snapshots'>, events: ReplayFormEvents) {
    this.events = events;
    this.alternatives = textField('Alternatives', { size: 4, inputmode: 'numeric', value: defaults.alternatives });
    this.replays = textField('Replays each', { size: 4, inputmode: 'numeric', value: defaults.replays });
    this.typed = textArea('Your own message', { rows: 3, resize: 'vertical' });
    this.common = checkbox('Common random numbers', true, 'Replay m of every alternative draws the same random numbers: differences between alternatives vary less. Off: each alternative draws its own.');
    this.verify = button('Verify replay', () => { events.verify(); }, { title: 'Execute the stored replays of this message again and compare them (V)' });
    this.verify.hidden = true;
    const submit = (): void => {
      const request = this.running ? null : this.read();
      if (request !== null) events.start(request);
    };
    this.continuation = new ContinueWith(own, snapshots, { chooseModel: () => { events.chooseModel(); }, submit });
    this.start = button('Replay alternatives', submit, { primary: true, title: 'Sample other messages from the same frozen context (R)' });
    for (const field of [this.alternatives, this.replays]) {
      field.addEventListener('keydown', (event) => { if (event.key === 'Enter') submit(); });
    }
    const typed = h('details', { class: 'typed' }, h('summary', {}, 'Try a message of your own'), this.typed);
    this.element = h(
      'section',
      { class: 'replay', 'aria-label': 'Replay' },
      defaults.unavailable === null
        ? h('div', { class: 'fields' }, this.alternatives, this.replays, this.common, this.start, this.verify)
        : h('p', { class: 'muted' }, defaults.unavailable),
      defaults.unavailable === null ? typed : null,
      defaults.unavailable === null ? this.continuation.element : null,
      this.problem,
      this.progress,
    );
  }

  /** There is a replay that can be verified. */
  allowVerification(): void {
    this.verify.hidden = false;
  }

  /** Starts with what stands in the fields, as the button does. */
  submit(): void {
    if (!this.running) this.start.click();
  }

  /** Replays the message emptied, as it was made, with the number of replays that stands in the field. */
  removeMessage(): void {
    const replays = parseCount('Replays each', this.replays.value, 1, MAX_REPLAYS);
    this.problem.textContent = typeof replays === 'string' ? replays : '';
    if (!this.running && typeof replays !== 'string') this.events.start({ alternatives: 0, replays, text: '', independent: !this.common.checked, continuation: AS_RECORDED });
  }

  /** Replays as recorded what the fields describe. */
  submitAsRecorded(): void {
    const request = this.read();
    if (!this.running && request !== null) this.events.start({ ...request, text: null, alternatives: Math.max(1, request.alternatives), continuation: AS_RECORDED });
  }

  /** The folder of another model was chosen. */
  setModel(folder: string): void {
    this.continuation.setModel(folder);
  }

  /** Shows a replay; `here` says whether it is one of the message in this pane. */
  show(state: ReplayState | null, here: boolean): void {
    this.running = state?.status === 'running';
    this.start.disabled = this.running;
    this.problem.textContent = state !== null && here && state.status === 'failed' ? state.error ?? 'The replay failed.' : '';
    if (state === null || (!this.running && !(here && state.status === 'cancelled'))) {
      replace(this.progress);
    } else if (!this.running) {
      replace(this.progress, h('span', { class: 'muted' }, `Cancelled after ${count(state.done)} of ${count(state.total)}; what arrived is kept.`));
    } else {
      const words = state.total === 0 ? 'Preparing' : state.done === state.total ? 'Verifying what was replayed' : `${count(state.done)} of ${count(state.total)}`;
      replace(this.progress, progressRing('Replaying'), h('span', {}, here ? words : `Another message is replayed: ${words}`), this.cancelButton());
    }
  }

  private cancelButton(): HTMLElement {
    return button('Cancel', () => { this.events.cancel(); });
  }

  private read(): ReplayRequest | null {
    const text = this.typed.value === '' ? null : this.typed.value;
    const alternatives = parseCount('Alternatives', this.alternatives.value, text === null ? 1 : 0, MAX_ALTERNATIVES);
    const replays = parseCount('Replays each', this.replays.value, 1, MAX_REPLAYS);
    const continuation = this.continuation.read();
    const wrong = [alternatives, replays, continuation].find((value) => typeof value === 'string');
    this.problem.textContent = typeof wrong === 'string' ? wrong : '';
    if (typeof alternatives === 'string' || typeof replays === 'string' || typeof continuation === 'string') return null;
    return { alternatives, replays, text, independent: !this.common.checked, continuation };
  }
}
