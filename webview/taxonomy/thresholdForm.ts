/** The form of the thresholds, each as a slider and a number. Every valid change is sent at once. */

import {
  sameThresholds,
  TAXONOMY_THRESHOLDS,
  THRESHOLD_LIMITS,
  THRESHOLD_NAMES,
  type TaxonomyThresholds,
  type ThresholdName,
} from '../../src/domain/taxonomy.ts';
import { h } from '../common/dom.ts';
import { button } from '../common/toolkit.ts';
import { THRESHOLD_LABELS } from './words.ts';

/** Largest value of a slider. Larger values can be typed. */
const SLIDER_END = 1;
const SLIDER_STEP = 0.01;

interface Field {
  readonly name: ThresholdName;
  readonly row: HTMLElement;
  readonly slider: HTMLInputElement;
  readonly number: HTMLInputElement;
  readonly fault: HTMLElement;
  readonly paper: HTMLElement;
}

export class ThresholdForm {
  readonly element: HTMLElement;
  private readonly fields: readonly Field[];
  private readonly reset: HTMLElement;
  private readonly onChange: (thresholds: TaxonomyThresholds) => void;
  private current: TaxonomyThresholds = TAXONOMY_THRESHOLDS;

  constructor(onChange: (thresholds: TaxonomyThresholds) => void) {
    this.onChange = onChange;
    this.fields = THRESHOLD_NAMES.map((name) => this.fieldOf(name));
    this.reset = button("Reset to the paper's values", () => {
      this.set(TAXONOMY_THRESHOLDS);
      onChange(TAXONOMY_THRESHOLDS);
    });
    this.element = h(
      'fieldset',
      { class: 'thresholds' },
      h('legend', {}, 'Thresholds'),
      ...this.fields.map(({ row }) => row),
      h('div', { class: 'actions' }, this.reset),
    );
    this.set(TAXONOMY_THRESHOLDS);
  }

  /** Sets the thresholds without calling `onChange`. */
  set(thresholds: TaxonomyThresholds): void {
    this.current = thresholds;
    for (const { name, slider, number } of this.fields) {
      slider.value = String(thresholds[name]);
      number.value = String(thresholds[name]);
    }
    this.mark();
  }

  private fieldOf(name: ThresholdName): Field {
    const label = THRESHOLD_LABELS[name];
    const id = `threshold-${name}`;
    const slider = h('input', {
      type: 'range',
      id: `${id}-slider`,
      min: 0,
      max: SLIDER_END,
      step: SLIDER_STEP,
      'aria-label': label,
    });
    const number = h('input', {
      type: 'number',
      id,
      min: 0,
      max: THRESHOLD_LIMITS[name],
      step: 'any',
      'aria-describedby': `${id}-problem`,
    });
    const fault = h('p', { class: 'problem', id: `${id}-problem`, role: 'alert' });
    const paper = h('span', { class: 'muted paper' }, `paper ${TAXONOMY_THRESHOLDS[name]}`);
    if (name === 'significance') {
      paper.textContent = `default ${TAXONOMY_THRESHOLDS[name]}`;
    }
    const row = h('div', { class: 'threshold' }, h('label', { for: id }, label), slider, number, paper, fault);
    slider.addEventListener('input', () => this.change(name, slider.valueAsNumber));
    number.addEventListener('input', () => this.change(name, number.valueAsNumber));
    return { name, row, slider, number, fault, paper };
  }

  private change(name: ThresholdName, value: number): void {
    const field = this.fields.find((one) => one.name === name);
    if (field === undefined) {
      return;
    }
    const usable = Number.isFinite(value) && value >= 0 && value <= THRESHOLD_LIMITS[name];
    field.fault.textContent = usable
      ? ''
      : `Enter a number from 0 to ${THRESHOLD_LIMITS[name]}; until then, ${this.current[name]} applies.`;
    field.number.setAttribute('aria-invalid', String(!usable));
    if (!usable) {
      return;
    }
    this.current = { ...this.current, [name]: value };
    // The field in which the user types keeps its text.
    if (field.slider.valueAsNumber !== value) {
      field.slider.value = String(value);
    }
    if (field.number.valueAsNumber !== value) {
      field.number.value = String(value);
    }
    this.mark();
    this.onChange(this.current);
  }

  private mark(): void {
    for (const { name, row, fault, number } of this.fields) {
      row.classList.toggle('changed', this.current[name] !== TAXONOMY_THRESHOLDS[name]);
      if (number.valueAsNumber === this.current[name]) {
        fault.textContent = '';
        number.setAttribute('aria-invalid', 'false');
      }
    }
    this.reset.toggleAttribute('disabled', sameThresholds(this.current, TAXONOMY_THRESHOLDS));
  }
}
