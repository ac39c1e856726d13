/** The section "Continue with": another snapshot, temperature or model for a replay. */

import {
  choiceFault,
  OTHER_DISTRIBUTION,
  type ContinuationChoice,
  type OfferedSnapshot,
  type OwnContinuation,
} from '../../../src/domain/replay.ts';
import { Chooser, type Choice } from '../../common/chooser.ts';
import { h } from '../../common/dom.ts';
import { button, textField } from '../../common/toolkit.ts';
import type { ReplayFields } from './drafts.ts';
import { parseTemperature, labelSnapshot } from './replayWords.ts';

export class ContinueWith {
  readonly element: HTMLDetailsElement;
  private readonly snapshot = new Chooser('Snapshot', () => {
    this.updateSummary();
    this.changed();
  });
  private readonly temperature = textField('Temperature', { size: 6, inputmode: 'decimal' });
  private readonly model = textField('Model folder', { size: 24, placeholder: "the run's own" });
  private readonly state = h('span', { class: 'muted' });
  private readonly changed: () => void;

  constructor(
    own: OwnContinuation,
    snapshots: readonly OfferedSnapshot[],
    events: { chooseModel(): void; submit(): void; changed(): void },
  ) {
    this.changed = () => events.changed();
    const recorded =
      own.step === null ? own.snapshot.slice(0, 12) : labelSnapshot({ id: own.snapshot, step: own.step, kept: true });
    this.snapshot.choices = [
      ['', `As recorded: ${recorded}`],
      ...snapshots
        .filter(({ id }) => id !== own.snapshot)
        .map((offered): Choice => [offered.id, labelSnapshot(offered)]),
    ];
    this.temperature.placeholder = own.temperature === null ? 'as recorded' : `as recorded: ${own.temperature}`;
    for (const field of [this.temperature, this.model]) {
      field.addEventListener('input', () => this.updateSummary());
    }
    for (const field of [this.temperature, this.model]) {
      field.addEventListener('keydown', (event) => {
        if (event.key === 'Enter') {
          events.submit();
        }
      });
    }
    this.element = h(
      'details',
      { class: 'continue-with' },
      h('summary', {}, 'Continue with: ', this.state),
      h(
        'div',
        { class: 'fields' },
        h('div', { class: 'labelled' }, h('span', { 'aria-hidden': 'true' }, 'Snapshot'), this.snapshot.element),
        this.temperature,
        this.model,
        button('Choose folder…', () => events.chooseModel(), { title: 'Choose the folder of another model' }),
        button('As recorded', () => this.reset(), {
          title: "Back to the message's own snapshot, temperature and model",
        }),
      ),
      h(
        'p',
        { class: 'muted' },
        "The model input stays the same, byte for byte. Alternatives and their continuations are sampled with these settings; their credit belongs to that distribution and never replaces the message's own.",
      ),
    );
    this.updateSummary();
  }

  /** Returns the choice, or a sentence about what is wrong with it. */
  read(): ContinuationChoice | string {
    const temperature = parseTemperature(this.temperature.value);
    if (typeof temperature === 'string') {
      return temperature;
    }
    const choice = {
      snapshot: this.chosen,
      temperature,
      model: this.model.value.trim() === '' ? null : this.model.value.trim(),
    };
    return choiceFault(choice) ?? choice;
  }

  /** Sets the folder that was chosen in the editor's dialog. */
  setModel(folder: string): void {
    this.model.value = folder;
    this.snapshot.value = '';
    this.updateSummary();
    this.changed();
    this.model.focus();
  }

  private get chosen(): string | null {
    return this.snapshot.value === '' ? null : this.snapshot.value;
  }

  /** The values of the fields. */
  get fields(): Pick<ReplayFields, 'snapshot' | 'temperature' | 'model'> {
    return { snapshot: this.chosen, temperature: this.temperature.value, model: this.model.value };
  }

  /** Restores the fields, on the page only. Drops a snapshot that is no longer offered. */
  restore({ snapshot, temperature, model }: Pick<ReplayFields, 'snapshot' | 'temperature' | 'model'>): void {
    this.snapshot.value = snapshot ?? '';
    this.temperature.value = temperature;
    this.model.value = model;
    this.element.open = this.updateSummary();
  }

  private reset(): void {
    this.restore({ snapshot: null, temperature: '', model: '' });
    this.element.open = true;
    this.changed();
  }

  /** Updates the summary. Returns true if the choice differs from what was recorded. */
  private updateSummary(): boolean {
    const changed = this.chosen !== null || this.temperature.value.trim() !== '' || this.model.value.trim() !== '';
    this.state.textContent = changed ? OTHER_DISTRIBUTION : 'as recorded';
    this.element.classList.toggle('changed', changed);
    return changed;
  }
}
