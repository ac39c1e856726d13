/** The model panel: facts of a model folder, memory plan of a run, self-test, and start of a run. */

import {
  AUTOMATIC,
  DEFAULT_PROVIDER,
  DEVICE_REQUESTS,
  findTraits,
  type DeviceRequest,
} from '../../src/shared/devices.ts';
import type { ModelFacts, MemoryPlan, RunPlan, SelfTestStep } from '../../src/shared/models.ts';
import {
  ADAPTER_RANKS,
  type ModelFromHost,
  type ModelSettings,
  type ModelSnapshot,
  type ModelToHost,
  type ModelTestState,
} from '../../src/shared/protocols/modelProtocol.ts';
import { formatBytes } from '../../src/shared/text/sizes.ts';
import { Chooser, type Choice } from '../common/chooser.ts';
import { h, replace, badge, focusedIn, icon } from '../common/dom.ts';
import { duration } from '../common/format.ts';
import type { Host } from '../common/host.ts';
import { button, progressRing } from '../common/toolkit.ts';
import { COLOR_COUNT, memoryBar, type NumberedItem } from './memoryBar.ts';
import {
  listFactRows,
  describeRunBudget,
  nameMemoryPlace,
  describeMemoryTotal,
  describeFit,
  describeSelfTest,
} from './words.ts';

const EVERYTHING = 'everything';

export class ModelPanel {
  private readonly root: HTMLElement;
  private readonly host: Host<ModelToHost>;
  private readonly path = h('span', { class: 'muted path' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly status = h('div', { class: 'working', role: 'status' });
  private readonly trained = new Chooser('What is trained', (value) =>
    this.change({ adapterRank: value === EVERYTHING ? null : Number(value) }),
  );
  private readonly device = new Chooser('Device', (value) =>
    this.change({ device: DEVICE_REQUESTS.find((name) => name === value) ?? DEFAULT_PROVIDER }),
  );
  private readonly actions: HTMLElement;
  private readonly facts = h('section', { class: 'facts', 'aria-label': 'Model details' });
  private readonly planStatus = h('span', { class: 'working', role: 'status' });
  private readonly planFault = h('p', { class: 'problem', role: 'alert' });
  private readonly plan = h('div', { class: 'plan-body' });
  private readonly test: SelfTestView;
  private readonly body: HTMLElement;
  private readonly unread: HTMLElement;
  /** The settings. Those of later snapshots are ignored, because they may be older than the page's own. */
  private settings: ModelSettings | null = null;
  private readonly drawn = new Map<HTMLElement, string>();

  constructor(root: HTMLElement, host: Host<ModelToHost>) {
    this.root = root;
    this.host = host;
    this.test = new SelfTestView(
      () => host.post({ type: 'test' }),
      () => host.post({ type: 'cancelTest' }),
    );
    this.actions = h(
      'span',
      { class: 'push actions' },
      button('Choose another folder', () => host.post({ type: 'chooseFolder' })),
      button('Use for the next run', () => host.post({ type: 'use' }), {
        primary: true,
        title: 'Write a configuration with this model and these settings, and start a run with it',
      }),
    );
    const plan = h(
      'section',
      { class: 'plan', 'aria-label': 'Memory plan' },
      h('h2', {}, 'Memory for a run'),
      h(
        'div',
        { class: 'fields' },
        field('Trained', this.trained.element),
        field('Device', this.device.element),
        this.planStatus,
      ),
      this.planFault,
      this.plan,
    );
    this.body = h('div', { class: 'model' }, this.facts, plan, this.test.element);
    this.unread = h(
      'div',
      { class: 'unread' },
      h('p', { class: 'muted' }, 'Fix the folder and read it again, or choose another.'),
      h(
        'div',
        { class: 'actions' },
        button('Choose another folder', () => host.post({ type: 'chooseFolder' }), { primary: true }),
        button('Refresh', () => host.post({ type: 'readAgain' })),
      ),
    );
    host.listen<ModelFromHost>({ snapshot: ({ snapshot }) => this.show(snapshot) });
    host.post({ type: 'ready' });
  }

  private show(snapshot: ModelSnapshot): void {
    const { folder, facts, plan, test } = snapshot;
    if (this.settings === null) {
      this.begin(snapshot.settings);
    }
    this.path.textContent = folder;
    setText(this.banner, facts.error ?? '');
    this.once(this.status, facts.working, () =>
      facts.working ? [progressRing('Reading the folder'), h('span', {}, 'Reading the folder')] : [],
    );
    this.actions.hidden = facts.value === null;
    this.body.hidden = facts.value === null;
    this.unread.hidden = facts.error === null;
    this.once(this.facts, facts.value, () => (facts.value === null ? [] : [factTable(facts.value)]));
    this.once(this.planStatus, plan.working, () => (plan.working ? [progressRing('Planning')] : []));
    setText(this.planFault, plan.error ?? '');
    this.once(this.plan, plan.value, () => (plan.value === null ? [] : planView(plan.value)));
    this.plan.classList.toggle('stale', plan.working);
    this.test.show(test);
    this.keep(folder);
  }

  private begin(settings: ModelSettings): void {
    this.settings = settings;
    const ranks = [
      ...new Set([...ADAPTER_RANKS, ...(settings.adapterRank === null ? [] : [settings.adapterRank])]),
    ].sort((a, b) => a - b);
    this.trained.choices = [
      ...ranks.map((rank): Choice => [String(rank), `Adapter of rank ${rank}`]),
      [EVERYTHING, 'Everything'],
    ];
    this.device.choices = DEVICE_REQUESTS.map((device): Choice => [device, deviceTitle(device)]);
    replace(
      this.root,
      h('header', { class: 'panel-head' }, h('h1', {}, 'Model'), this.path, this.actions),
      this.banner,
      this.status,
      this.unread,
      this.body,
    );
    this.trained.value = settings.adapterRank === null ? EVERYTHING : String(settings.adapterRank);
    this.device.value = settings.device;
  }

  private change(changes: Partial<ModelSettings>): void {
    if (this.settings === null) {
      return;
    }
    this.settings = { ...this.settings, ...changes };
    this.plan.classList.add('stale');
    this.host.post({ type: 'settings', settings: this.settings });
  }

  /** Redraws a part only if its value changed, because snapshots come often. */
  private once(element: HTMLElement, value: unknown, draw: () => readonly (HTMLElement | null)[]): void {
    const key = JSON.stringify(value);
    if (this.drawn.get(element) === key) {
      return;
    }
    this.drawn.set(element, key);
    replace(element, ...draw());
  }

  private keep(folder: string): void {
    if (this.settings !== null) {
      this.host.setState({ version: 1, folder, settings: this.settings });
    }
  }
}

/** Sets a text only if it changed: screen readers read an alert whenever it is set. */
function setText(element: HTMLElement, words: string): void {
  if (element.textContent !== words) {
    element.textContent = words;
  }
}

function field(name: string, control: HTMLElement): HTMLElement {
  return h('div', { class: 'field' }, h('span', { 'aria-hidden': 'true' }, name), control);
}

function factTable(facts: ModelFacts): HTMLElement {
  return h(
    'table',
    {},
    h('caption', {}, 'Model details'),
    h(
      'tbody',
      {},
      ...listFactRows(facts).map(([name, value]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, value))),
    ),
  );
}

function deviceTitle(device: DeviceRequest): string {
  return device === AUTOMATIC ? 'Fastest exact device' : findTraits({ provider: device }).title;
}

// The memory plan: a bar for each place, the table of items, and advice if the plan does not fit.

/** Creates the elements below the settings of the plan. */
function planView({ memory, budget }: RunPlan): readonly (HTMLElement | null)[] {
  const items = memory.items.map((item, index) => ({ ...item, number: index + 1 }));
  return [
    ...memory.totals.map((total) =>
      h(
        'figure',
        {},
        h(
          'figcaption',
          {},
          h('span', {}, `${nameMemoryPlace(total.place)}: ${describeMemoryTotal(total)}`),
          badge(describeFit(total.fits), total.fits === false ? 'bad' : 'plain'),
        ),
        memoryBar(
          items.filter(({ place }) => place === total.place),
          total,
        ),
      ),
    ),
    createAdvice(memory),
    createItemTable(items, new Set(items.map(({ place }) => place)).size > 1),
    h('p', { class: 'muted' }, describeRunBudget(budget)),
  ];
}

function createAdvice({ advice: sentences }: MemoryPlan): HTMLElement | null {
  if (sentences.length === 0) {
    return null;
  }
  return h(
    'div',
    { class: 'advice', role: 'note', 'aria-label': 'What to change' },
    h('p', {}, 'It does not fit. What to change, most effective first:'),
    h('ol', {}, ...sentences.map((sentence) => h('li', {}, sentence))),
  );
}

function createItemTable(items: readonly NumberedItem[], places: boolean): HTMLElement {
  const head = ['Item', ...(places ? ['Where'] : []), 'Memory', 'How to reduce it'];
  return h(
    'table',
    { class: 'items' },
    h('caption', { class: 'for-readers' }, 'Memory by item'),
    h(
      'thead',
      {},
      h('tr', {}, ...head.map((name) => h('th', { scope: 'col', class: name === 'Memory' ? 'number' : null }, name))),
    ),
    h('tbody', {}, ...items.map((item) => createItemRow(item, places))),
  );
}

function createItemRow(item: NumberedItem, places: boolean): HTMLElement {
  const swatch = h(
    'span',
    { class: `swatch colour-${(item.number - 1) % COLOR_COUNT}`, 'aria-hidden': 'true' },
    String(item.number),
  );
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, h('span', { class: 'item-name' }, swatch, item.name)),
    places ? h('td', {}, nameMemoryPlace(item.place)) : null,
    h('td', { class: 'number' }, formatBytes(item.bytes)),
    h('td', { class: 'muted' }, item.advice ?? '–'),
  );
}

/** The self-test: its buttons, its progress, and its finished steps. */
class SelfTestView {
  readonly element: HTMLElement;
  private readonly start;
  private readonly cancel;
  private readonly status = h('p', { class: 'test-status', role: 'status' });
  // The toolkit has only a ring, which cannot show a share.
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

  /** @param test null before the first test of the folder */
  show(test: ModelTestState | null): void {
    const running = test?.status === 'running';
    this.swap(running);
    this.progress.hidden = !running;
    if (test?.share === null || test === null) {
      this.progress.removeAttribute('value');
    } else {
      this.progress.value = test.share;
    }
    const words = test === null ? '' : describeSelfTest(test);
    // Screen readers read a status whenever it is set, so it is set only if it changed.
    if (this.status.textContent !== words) {
      this.status.textContent = words;
    }
    this.status.classList.toggle(
      'problem',
      test?.status === 'failed' || (test?.status === 'done' && test.steps.some((step) => !step.passed)),
    );
    this.drawSteps(test?.steps ?? []);
  }

  /** Replaces one button with the other and moves the focus along. */
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
