/** The model panel: what a folder holds, what a run with it needs, whether it works here, and the way to a run. */
import {
  AUTOMATIC,
  DEFAULT_PROVIDER,
  DEVICE_REQUESTS,
  traitsOf,
  type DeviceRequest,
} from '../../src/shared/devices.ts';
import type { ModelFacts } from '../../src/shared/models.ts';
import {
  ADAPTER_RANKS,
  type ModelFromHost,
  type ModelSettings,
  type ModelSnapshot,
  type ModelToHost,
} from '../../src/shared/protocols/modelProtocol.ts';
import { h, replace } from '../common/dom.ts';
import type { Host } from '../common/host.ts';
import { button, dropdown, option, progressRing } from '../common/toolkit.ts';
import { planView } from './planView.ts';
import { SelfTestView } from './selfTest.ts';
import { factRows } from './words.ts';

const EVERYTHING = 'everything';

export class ModelPanel {
  private readonly root: HTMLElement;
  private readonly host: Host<ModelToHost>;
  private readonly path = h('span', { class: 'muted path' });
  private readonly banner = h('p', { class: 'problem banner', role: 'alert' });
  private readonly status = h('div', { class: 'working', role: 'status' });
  private readonly trained = dropdown('What is trained', (value) =>
    this.change({ adapterRank: value === EVERYTHING ? null : Number(value) }),
  );
  private readonly device = dropdown('Device', (value) =>
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
  /** The page's own word counts after the first: an older one may still be on its way back. */
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
      h('div', { class: 'fields' }, field('Trained', this.trained), field('Device', this.device), this.planStatus),
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
    replace(
      this.trained,
      ...ranks.map((rank) => option(String(rank), `Adapter of rank ${rank}`)),
      option(EVERYTHING, 'Everything'),
    );
    replace(this.device, ...DEVICE_REQUESTS.map((device) => option(device, deviceTitle(device))));
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

  /** Draws a part again only when what it shows is another: progress comes often. */
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

/** An alert is read out when it changes, so it changes only with its words. */
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
      ...factRows(facts).map(([name, value]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', {}, value))),
    ),
  );
}

function deviceTitle(device: DeviceRequest): string {
  return device === AUTOMATIC ? 'Fastest exact device' : traitsOf({ provider: device }).title;
}
