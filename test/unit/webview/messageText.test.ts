import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SetFormula, WithMathematics } from '../../../webview/transcript/message/formulas.ts';
import { makeDocument, MadeElement } from './madeDocument.ts';

makeDocument();
const { MessageText, MOST_MARKS } = await import('../../../webview/transcript/message/messageText.ts');
const { createTextNodes: shownText } = await import('../../../webview/common/shownText.ts');
const { rowElement, describeRow: rowLabel } = await import('../../../webview/transcript/tree/row.ts');
const { formulaOf } = await import('../../../webview/transcript/message/mathematics.ts');

/** Mathematics that is there when the test says so. */
class Later {
  readonly waiting: ((set: SetFormula) => void)[] = [];
  readonly ask: WithMathematics = (ready) => this.waiting.push(ready);

  come(): void {
    for (const ready of this.waiting.splice(0)) {
      ready(formulaOf);
    }
  }
}

function shown(
  text: string,
  look: { readonly asWritten?: boolean; readonly query?: string; readonly code?: boolean } = {},
): { readonly view: InstanceType<typeof MessageText>; readonly element: MadeElement; readonly later: Later } {
  const later = new Later();
  const view = new MessageText(
    text,
    look.code ?? false,
    { asWritten: look.asWritten ?? false, query: look.query ?? '' },
    later.ask,
  );
  const element: unknown = view.element;
  assert.ok(element instanceof MadeElement);
  return { view, element, later };
}

const names = (element: MadeElement): readonly string[] =>
  element
    .all()
    .slice(1)
    .map(({ localName }) => localName);

test('prose, code and mathematics have elements of their own, and the text stays whole until a formula is set', () => {
  const text = 'Let $x^2$ be `f(x)`:\n```py\nreturn x\n```\nSo \\[ x = \\nonsense \\] and $y$.';
  const { element, later } = shown(text);
  assert.deepEqual(names(element), ['span', 'code', 'pre', 'code', 'span', 'span']);
  assert.equal(element.textContent, 'Let $x^2$ be f(x):\nreturn x\nSo \\[ x = \\nonsense \\] and $y$.');
  later.come();
  const formulas = element.ofClass('line-formula');
  assert.deepEqual(
    formulas.map((formula) => formula.getAttribute('data-written')),
    ['$x^2$', '$y$'],
  );
  assert.ok(formulas.every((formula) => formula.all().some(({ localName }) => localName === 'math')));
  assert.ok(element.textContent.includes('\\[ x = \\nonsense \\]'), 'what does not parse stays as it was written');
  assert.equal(
    element
      .all()
      .find(({ localName }) => localName === 'pre')
      ?.getAttribute('data-language'),
    'py',
  );
});

test('as it was written, a text is one text; so is the code of the role that answers, unless it sets code apart', () => {
  const text = 'Let $x$ be `y`.\n```\nz\n```\n';
  const written = shown(text, { asWritten: true });
  assert.equal(written.element.textContent, text);
  assert.deepEqual(names(written.element), []);
  assert.equal(written.element.ofClass('as-written').length, 1);
  assert.equal(written.later.waiting.length, 0, 'nothing is loaded for it');
  written.view.show({ asWritten: false, query: '' });
  assert.equal(written.element.ofClass('as-written').length, 0);
  const code = shown('def f(x):\n    return `x` * $2$', { code: true });
  assert.deepEqual([names(code.element), code.element.ofClass('as-written').length], [[], 1]);
  assert.equal(shown(text, { code: true }).element.ofClass('as-written').length, 0);
  assert.equal(shown('no formula: $5').later.waiting.length, 0);
});

test('what acts unseen is set apart by its code, in prose, in code and in a hit', () => {
  const text = 'a\u202eb\u202c `c\u200bd` \u001b[31mred\r\n\tplan\u00adned \ud800 é';
  for (const asWritten of [false, true]) {
    const { element } = shown(text, { asWritten, query: 'plan' });
    const marks = element.ofClass('unseen');
    assert.deepEqual(
      marks.map(({ textContent }) => textContent),
      ['⟨U+202E⟩', '⟨U+202C⟩', '⟨U+200B⟩', '⟨U+001B⟩', '⟨CR⟩', '⟨U+00AD⟩', '⟨U+D800⟩'],
    );
    assert.deepEqual(
      marks.map((mark) => mark.getAttribute('data-written')).join(''),
      '\u202e\u202c\u200b\u001b\r\u00ad\ud800',
    );
    assert.ok(!/[\u202a-\u202e\u200b\u001b\r]/u.test(element.textContent));
    assert.ok(element.textContent.includes('\n\tplan'));
    assert.deepEqual(
      element
        .all()
        .filter(({ localName }) => localName === 'mark')
        .map(({ textContent }) => textContent),
      ['plan'],
    );
  }
  const hit = shown('pl\u115fan', { query: 'pl' })
    .element.all()
    .find(({ localName }) => localName === 'mark');
  assert.equal(hit?.textContent, 'pl⟨U+115F⟩an');
});

test('the hits of a search are marked wherever they are, and the first can be brought into sight', () => {
  const { view, element, later } = shown(`${'word '.repeat(2_000)}the Plan, \`planned\`, $\\mathrm{plan}$`, {
    query: 'plan',
  });
  const hits = (): readonly MadeElement[] => element.all().filter(({ localName }) => localName === 'mark');
  assert.deepEqual(
    hits().map(({ textContent }) => textContent),
    ['Plan', 'planned', '$\\mathrm{plan}$'],
  );
  view.seekHit();
  assert.deepEqual(
    hits().map(({ scrolledTo }) => scrolledTo),
    [1, 0, 0],
  );
  later.come();
  assert.equal(hits()[0]?.scrolledTo, 2, 'again when formulas have taken their places');
  assert.equal(hits()[2]?.ofClass('line-formula').length, 1);
  view.show({ asWritten: false, query: '' });
  assert.equal(hits().length, 0);
  view.seekHit();
});

test('a text of a million characters is one text with bounded marks', () => {
  const line = 'x'.repeat(1 << 20);
  const { element } = shown(line, { query: 'x' });
  assert.equal(element.textContent, line);
  assert.equal(names(element).length, 1);
  const many = shown('plan $x$ `y` \u202e'.repeat(70_000), { query: 'plan' });
  assert.equal(many.element.all().filter(({ localName }) => localName === 'mark').length, MOST_MARKS);
  assert.ok(many.element.all().length < 4_000);
  assert.ok(!many.element.textContent.includes('\u202e'), 'what is beyond the marks is told by its code all the same');
  const short = shown('plan \u202e $x$ `y` '.repeat(6_000), { query: 'plan' });
  assert.ok(short.element.all().length < 8_000);
});

test('a row says what is not seen, for the eye and for the ear', () => {
  const row = {
    index: 1,
    depth: 1,
    parent: 0,
    descendants: 0,
    message: 4,
    key: 4,
    lane: null,
    role: 'actor',
    turn: 0,
    position: 1,
    siblings: 1,
    text: 'a \u202eplan\u001b[0m',
    finish: null,
    return: 1,
    leaves: 1,
    credit: null,
    branch: false,
    match: true,
    verification: null,
    other: null,
    events: null,
    outcome: null,
  };
  const element: unknown = rowElement(row, { folded: false, active: false, selected: false, compared: false }, 'plan');
  assert.ok(element instanceof MadeElement);
  const [text] = element.ofClass('row-text');
  assert.equal(text?.textContent, 'a ⟨U+202E⟩plan⟨U+001B⟩[0m');
  assert.ok(text.all().some(({ localName, textContent }) => localName === 'mark' && textContent === 'plan'));
  assert.ok(rowLabel(row).startsWith('actor: a ⟨U+202E⟩plan⟨U+001B⟩[0m; return 1'));
});

/** The first message of an episode. */
const ROW = {
  index: 1,
  depth: 1,
  parent: 0,
  descendants: 1,
  message: 4,
  key: 4,
  lane: null,
  role: 'planner',
  turn: 0,
  position: 3,
  siblings: 4,
  text: 'plan',
  finish: null,
  return: 1,
  leaves: 1,
  credit: null,
  branch: false,
  match: true,
  verification: null,
  other: null,
  events: null,
  outcome: null,
};

test('a row of a later stage of its step says so, the first of its episode for the eye too', () => {
  const first = { ...ROW, stage: 2 };
  const places = (row: typeof first): readonly string[] => {
    const element: unknown = rowElement(row, { folded: false, active: false, selected: false, compared: false }, '');
    assert.ok(element instanceof MadeElement);
    return element.ofClass('place').map(({ textContent }) => textContent);
  };
  assert.deepEqual(places(first), ['3/4', 'stage 2']);
  assert.ok(rowLabel(first).startsWith('planner 3 of 4, stage 2: plan'));
  assert.deepEqual(places({ ...first, depth: 2, siblings: 1 }), []);
});

test('a message has a menu, and the question has none', () => {
  const menuOf = (message: number | null): unknown => {
    const state = { folded: false, active: false, selected: false, compared: false };
    const element: unknown = rowElement({ ...ROW, message }, state, '');
    assert.ok(element instanceof MadeElement);
    const menu = element.dataset['vscodeContext'];
    return menu === undefined ? null : JSON.parse(menu);
  };
  assert.deepEqual(menuOf(4), { webviewSection: 'message', message: 4, preventDefaultContextMenuItems: true });
  assert.equal(menuOf(null), null);
});

test('events of a row are numbered by their rounds, and one that says nothing tells why it ended the episode', () => {
  const event = { closing: false, derived: true, reward: null, text: '', done: null };
  const events = (round: number | null) => ({
    before: [{ ...event, source: 'feedback', text: 'Wrong.', round }],
    after: [
      { ...event, source: 'termination', done: 'the mean is above 0.4', round: round === null ? null : round + 1 },
    ],
  });
  const chipsOf = (row: Parameters<typeof rowElement>[0]): readonly (readonly (string | null)[])[] => {
    const state = { folded: false, active: false, selected: false, compared: false };
    const element: unknown = rowElement(row, state, '');
    assert.ok(element instanceof MadeElement);
    return element.ofClass('event').map((chip) => [chip.textContent, chip.getAttribute('title')]);
  };
  const row = { ...ROW, events: events(1) };
  assert.deepEqual(chipsOf(row), [
    ['feedback', 'feedback, round 1: Wrong.'],
    ['termination 2', 'termination, round 2: the mean is above 0.4'],
  ]);
  assert.ok(
    rowLabel(row).startsWith(
      'planner 3 of 4, feedback, round 1: Wrong.: plan, termination, round 2: the mean is above 0.4; return 1',
    ),
  );
  assert.deepEqual(
    chipsOf({ ...ROW, events: events(null) }).map(([name]) => name),
    ['feedback', 'termination'],
  );
});

test('text without anything unseen stays as it is', () => {
  assert.deepEqual(shownText('é 中 😀 👨‍👩‍👧 ❤️ <script>\n\t'), ['é 中 😀 👨‍👩‍👧 ❤️ <script>\n\t']);
  assert.deepEqual(shownText(''), []);
});
