/** The self-test: its button, how far it is, and its steps as they end. */
import type { SelfTestStep } from '../../src/shared/models.ts';
import type { ModelTestState } from '../../src/shared/protocols/modelProtocol.ts';
import { focusedIn, h, icon, replace } from '../common/dom.ts';
import { duration } from '../common/format.ts';
import { button } from '../common/toolkit.ts';
import { testWords } from './words.ts';

export class SelfTestView {
  readonly element: HTMLElement;
  private readonly start;
  private readonly cancel;
  private readonly status = h('p', { class: 'test-status', role: 'status' });
  private readonly progress = h('progress', { 'aria-label': 'Self-test', max: 1 });
  private readonly steps = h('ul', { class: 'steps', 'aria-label': 'Steps of the self-test' });
  private shown = 0;

  constructor(onStart: () => void, onCancel: () => void) {
    this.start = button('Self-test', onStart, { title: 'Load and test the model' });
    this.cancel = button('Cancel self-test', onCancel);
    this.element = h(
      'section',
      { class: 'test', 'aria-label': 'Self-test' },
      h('h2', {}, 'Self-test'),
      h(
        'p',
        { class: 'muted' },
        'Loads the model, checks its tokenizer and template, and generates a few tokens alone and in a batch. Takes about ten seconds, or longer if loading is slow.',
      ),
      h('div', { class: 'actions' }, this.start, this.cancel),
      this.progress,
      this.status,
      this.steps,
    );
    this.show(null);
  }

  /** @param test null before the first test of a folder */
  show(test: ModelTestState | null): void {
    const running = test?.status === 'running';
    this.swap(running);
    this.progress.hidden = !running;
    if (test?.share === null || test === null) {
      this.progress.removeAttribute('value');
    } else {
      this.progress.value = test.share;
    }
    const words = test === null ? '' : testWords(test);
    // Only news is read out.
    if (this.status.textContent !== words) {
      this.status.textContent = words;
    }
    this.status.classList.toggle(
      'problem',
      test?.status === 'failed' || (test?.status === 'done' && test.steps.some((step) => !step.passed)),
    );
    this.drawSteps(test?.steps ?? []);
  }

  /** One button replaces the other, and the focus stays in it. */
  private swap(running: boolean): void {
    const [shown, hidden] = running ? [this.cancel, this.start] : [this.start, this.cancel];
    const focused = focusedIn(hidden) !== null;
    shown.hidden = false;
    hidden.hidden = true;
    if (focused) {
      shown.focus();
    }
  }

  private drawSteps(steps: readonly SelfTestStep[]): void {
    if (steps.length < this.shown || steps.length === 0) {
      replace(this.steps);
    }
    this.steps.append(...steps.slice(this.steps.childElementCount).map(stepRow));
    this.shown = steps.length;
  }
}

function stepRow({ name, passed, seconds, detail }: SelfTestStep): HTMLElement {
  return h(
    'li',
    { class: passed ? 'tone-good' : 'tone-bad' },
    icon(passed ? 'check' : 'cross'),
    h('span', { class: 'step-name' }, name),
    h('span', { class: 'muted' }, `${passed ? 'passed' : 'failed'}, ${duration(seconds)}`),
    h('span', { class: passed ? 'step-detail muted' : 'step-detail' }, detail),
  );
}
