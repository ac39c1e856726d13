/** What is where in the transcript tree when its layout changes under the reader. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { WINDOW, type MarkedRow, type RowPlace } from '../../../src/shared/protocols/transcriptProtocol.ts';
import { makeDocument, MadeElement, nextFrame } from './madeDocument.ts';

makeDocument();
const { TreeView } = await import('../../../webview/transcript/tree/tree.ts');
const HEIGHT = 22;
/** Rows in sight. */
const SIGHT = 10;

interface Message {
  readonly id: number;
  readonly depth: number;
}

interface Opening {
  readonly same?: boolean;
  readonly folded?: readonly number[];
  readonly opened?: readonly number[];
  readonly near?: number;
  /** The lanes that begin folded. */
  readonly lanes?: (host: Host) => readonly RowPlace[];
}

/** A host that answers when asked to, from a list of messages depth first. */
class Host {
  readonly asked: (readonly [revision: number, offset: number])[] = [];
  readonly selected: (number | null)[] = [];
  readonly compared: number[] = [];
  readonly scroller: MadeElement;
  readonly tree: InstanceType<typeof TreeView>;
  private messages: readonly Message[] = [];
  private revision = 0;

  constructor() {
    const nothing = (): void => undefined;
    this.tree = new TreeView({
      ask: (revision, offset) => this.asked.push([revision, offset]),
      select: (message) => this.selected.push(message),
      replay: nothing,
      verify: nothing,
      exportReport: nothing,
      copyLink: nothing,
      compare: (message) => this.compared.push(message),
      tokens: nothing,
      command: nothing,
      moved: nothing,
      scrolled: nothing,
      arranged: nothing,
    });
    const element: unknown = this.tree.element;
    assert.ok(element instanceof MadeElement);
    this.scroller = element;
    this.scroller.clientHeight = SIGHT * HEIGHT;
  }

  /** Another layout, with the places of `named`; those that it lacks are near the row \`near\`. */
  open(
    messages: readonly Message[],
    named: readonly number[],
    { same = true, folded = [], opened = [], near = 0, lanes = () => [] }: Opening = {},
  ): void {
    this.messages = messages;
    this.revision++;
    const all = [...named, ...folded];
    const places = all.map((id) => this.place(id)).filter((place) => place !== null);
    const hidden = all.filter((id) => this.place(id) === null).map((message) => ({ message, index: near }));
    const replayed = { requests: 0, replays: 0, messages: 0, matching: 0 };
    const sizes = { rows: messages.length + 1, messages: messages.length, matching: messages.length, replayed };
    this.tree.open(
      { revision: this.revision, ...sizes, lanes: lanes(this), places, near: hidden },
      { folded, opened },
      null,
      same,
    );
  }

  place(id: number): RowPlace | null {
    const index = this.messages.findIndex((message) => message.id === id) + 1;
    return index === 0 ? null : { message: id, index, descendants: this.row(index).descendants, ancestors: [] };
  }

  /** Answers what a frame asks for under the layout of now; all of it, or some windows only. */
  answer(offsets?: readonly number[]): void {
    nextFrame();
    for (const [revision, offset] of this.asked.splice(0)) {
      if (revision !== this.revision) {
        continue;
      }
      if (offsets?.includes(offset) === false) {
        this.asked.push([revision, offset]);
        continue;
      }
      const end = Math.min(this.messages.length + 1, offset + WINDOW);
      this.tree.accept(
        revision,
        offset,
        Array.from({ length: end - offset }, (_, place) => this.row(offset + place)),
      );
    }
    nextFrame();
  }

  private row(index: number): MarkedRow {
    const message = this.messages[index - 1];
    const depth = message?.depth ?? 0;
    const below = this.messages.slice(index).findIndex((other) => other.depth <= depth);
    const parent =
      index === 0 ? null : this.messages.slice(0, index - 1).findLastIndex((other) => other.depth < depth) + 1;
    return {
      index,
      depth,
      parent,
      descendants: below < 0 ? this.messages.length - index : below,
      message: message === undefined ? null : Math.abs(message.id),
      key: message?.id ?? null,
      lane: message !== undefined && message.id < 0 ? { requests: 1, replays: 2 } : null,
      role: 'actor',
      turn: 0,
      position: 1,
      siblings: 1,
      text: `text ${message?.id ?? 'of the question'}`,
      finish: 'end',
      return: null,
      leaves: 0,
      credit: null,
      branch: false,
      match: true,
      verification: null,
      other: null,
      events: null,
      outcome: null,
    };
  }

  /** A frame as the browser makes it: what scrolled is reported first. */
  frame(): void {
    this.scroller.fire('scroll');
    nextFrame();
  }

  scroll(pixels: number): void {
    this.scroller.scrollTop = pixels;
    this.frame();
  }

  press(key: string): void {
    this.scroller.fire('keydown', { key, ctrlKey: false, altKey: false, metaKey: false });
    nextFrame();
  }

  get elements(): readonly MadeElement[] {
    const [canvas] = this.scroller.children;
    assert.ok(canvas instanceof MadeElement);
    return canvas.children;
  }

  /** Pixels from the top of what is in sight, with what is there; loading rows are null. */
  seen(): readonly (readonly [top: number, words: string | null])[] {
    const pixels = (text: string | undefined, pattern: RegExp): number => Number(pattern.exec(text ?? '')?.[1] ?? 0);
    return this.elements
      .map((element) => ({
        element,
        top:
          pixels(element.style['transform'], /\((-?\d+)px/u) +
          pixels(element.style['translate'], / (-?\d+)px/u) -
          this.scroller.scrollTop,
      }))
      .filter(({ top }) => top > -HEIGHT && top < SIGHT * HEIGHT)
      .sort((a, b) => a.top - b.top)
      .map(({ element, top }) => [
        top,
        element.hasAttribute('aria-busy')
          ? null
          : (/text (?:\d+|of the question)/u.exec(element.attributes.get('aria-label') ?? '')?.[0] ?? ''),
      ]);
  }

  /** The key of the row that has the keyboard. */
  get keyboard(): number | null {
    return this.row(this.tree.place).key;
  }
}

const flat = (from: number, count: number): readonly Message[] =>
  Array.from({ length: count }, (_, step) => ({ id: from + step, depth: 1 }));
const words = (from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, step) => `text ${from + step}`);

let host: Host;
beforeEach(() => {
  host = new Host();
  host.open(flat(1000, 100), [], { same: false });
  host.answer();
});

test('a layout that scrolls the tree never leaves old rows under new indexes, and nothing moves or goes blank while its rows are on the way', () => {
  host.scroll(20 * HEIGHT + 7);
  const before = host.seen();
  assert.deepEqual(
    before.map(([, text]) => text),
    words(1019, 11),
  );
  // Three branches arrive above what is in sight.
  host.open([...flat(1, 3), ...flat(1000, 100)], host.tree.landmarks());
  assert.deepEqual(host.seen(), before);
  host.frame();
  assert.deepEqual(host.seen(), before);
  host.answer();
  assert.deepEqual(host.seen(), before);
  assert.deepEqual(
    host.elements.map(({ attributes }) => attributes.get('id')).slice(0, 2),
    ['row-13', 'row-14'],
    'the rows are those of the new layout',
  );
  host.scroller.fire('click', { target: host.elements[12] });
  assert.deepEqual(host.selected, [1021], 'a click selects what it hits');
});

test('a filter that leaves fewer rows shows these, and not the old ones', () => {
  host.scroll(20 * HEIGHT + 7);
  host.open(flat(1050, 5), host.tree.landmarks());
  host.frame();
  host.answer();
  assert.deepEqual(
    host.seen().map(([, text]) => text),
    ['text of the question', ...words(1050, 5)],
  );
  // Slightly scrolled, and as many rows as before.
  host.scroll(0);
  host.open(flat(1000, 100), []);
  host.answer();
  host.scroll(5);
  host.open(flat(2000, 12), host.tree.landmarks());
  host.frame();
  host.answer();
  assert.deepEqual(
    host.seen().map(([, text]) => text),
    ['text of the question', ...words(2000, 10)],
  );
});

test('who scrolls while rows are on the way sees rows that load, and then the new ones', () => {
  host.scroll(20 * HEIGHT);
  host.open([...flat(1, 3), ...flat(1000, 100)], host.tree.landmarks());
  host.scroll(27 * HEIGHT);
  assert.deepEqual(
    host.seen().map(([, text]) => text),
    Array.from({ length: SIGHT }, () => null),
  );
  host.answer();
  assert.deepEqual(
    host.seen().map(([, text]) => text),
    words(1023, SIGHT),
  );
});

test('words that are searched for meanwhile leave no blank place', () => {
  host.scroll(20 * HEIGHT);
  host.open([...flat(1, 3), ...flat(1000, 100)], host.tree.landmarks());
  host.tree.highlight('text');
  nextFrame();
  assert.equal(host.seen().length, SIGHT);
});

test('a click means the message that was seen where the pointer went down, whatever is drawn there since', () => {
  host.open(flat(1000, 400), [], { same: false });
  host.answer();
  host.scroll(190 * HEIGHT);
  host.answer();
  const clicked = host.elements.find(({ attributes }) => attributes.get('id') === 'row-192');
  assert.ok(clicked?.attributes.get('aria-label')?.includes('text 1191'));
  host.open([...flat(1, 3), ...flat(1000, 400)], host.tree.landmarks());
  nextFrame();
  // The first of the two windows in sight is here.
  host.answer([0]);
  host.scroller.fire('click', { target: clicked });
  assert.deepEqual(host.selected, [1191], 'on a row of the layout before');
  host.answer();
  const found = (text: string): MadeElement | undefined =>
    host.elements.find(({ attributes }) => attributes.get('aria-label')?.includes(text));
  host.scroller.fire('mousedown', { target: found('text 1192') });
  host.scroller.fire('click', { target: found('text 1193') });
  host.scroller.fire('mousedown', { target: found('text 1192') });
  host.scroller.fire('click', { target: host.scroller });
  host.scroller.fire('click', { target: found('text 1193') });
  assert.deepEqual(host.selected, [1191, 1192, 1192, 1193], 'on another row, and on none');
});

test('a key pressed after a click means what was clicked, though its rows are still on their way', () => {
  const found = (text: string): MadeElement | undefined =>
    host.elements.find(({ attributes }) => attributes.get('aria-label')?.includes(text));
  const clicked = found('text 1005');
  host.open([...flat(1, 3), ...flat(1000, 100)], host.tree.landmarks());
  host.scroller.fire('click', { target: clicked });
  host.press('c');
  assert.deepEqual(host.compared, [], 'where it stands is unknown so far');
  host.answer();
  assert.deepEqual([host.compared, host.keyboard], [[1005], 1005]);
  // Another layout while the rows of that one are on their way.
  const next = found('text 1006');
  host.open(flat(1000, 100), host.tree.landmarks());
  host.scroller.fire('click', { target: next });
  host.press('c');
  host.open([...flat(1, 2), ...flat(1000, 100)], host.tree.landmarks());
  host.answer();
  assert.deepEqual([host.compared, host.keyboard], [[1005, 1006], 1006]);
  // What was clicked is gone: nothing else is meant.
  const gone = found('text 1003');
  host.open([...flat(1000, 3), ...flat(1004, 97)], host.tree.landmarks());
  host.scroller.fire('click', { target: gone });
  host.press('c');
  host.answer();
  assert.deepEqual([host.compared, host.keyboard], [[1005, 1006], 1006]);
  // The rows of the same layout are drawn anew.
  host.scroller.fire('mousedown', { target: found('text 1008') });
  host.tree.highlight('text');
  host.scroller.fire('click', { target: host.scroller });
  host.press('c');
  host.answer();
  assert.deepEqual([host.compared, host.keyboard], [[1005, 1006, 1008], 1008]);
  // A key that moves the keyboard ends it.
  const left = found('text 1009');
  host.open([...flat(1, 1), ...flat(1000, 100)], host.tree.landmarks());
  host.scroller.fire('click', { target: left });
  host.press('ArrowUp');
  host.press('c');
  host.answer();
  assert.equal(host.keyboard, 1007);
  assert.deepEqual(host.compared.slice(3), [1007]);
});

test('the keyboard and the view stay at their rows though they moved since the layout was asked for', () => {
  host.scroll(20 * HEIGHT);
  for (let step = 0; step < 25; step++) {
    host.press('ArrowDown');
  }
  const named = host.tree.landmarks();
  assert.equal(host.keyboard, 1024);
  for (let step = 0; step < 4; step++) {
    host.press('ArrowDown');
  }
  host.scroll(23 * HEIGHT);
  const before = host.seen();
  host.open([...flat(1, 8), ...flat(1000, 100)], named);
  host.answer();
  assert.equal(host.keyboard, 1028);
  assert.deepEqual(host.seen(), before);
});

test('a row that the filter took away leaves its place to the one that the host names; the question keeps the keyboard', () => {
  host.press('End');
  host.answer();
  host.open(flat(1000, 50), host.tree.landmarks(), { near: 50 });
  host.answer();
  assert.equal(host.keyboard, 1049);
  host.press('Home');
  host.open(flat(900, 200), host.tree.landmarks());
  assert.equal(host.keyboard, null);
});

test('Arrow Left goes to the message above, however far it is and whether or not it was loaded', () => {
  const plans = Array.from({ length: 3 }, (_, plan) => [
    { id: plan + 1, depth: 1 },
    ...Array.from({ length: 999 }, (__, actor) => ({ id: 10_000 * (plan + 1) + actor, depth: 2 })),
  ]).flat();
  host.open(plans, [], { same: false });
  host.answer();
  host.press('End');
  host.answer();
  assert.equal(host.keyboard, 30_998);
  host.press('ArrowLeft');
  assert.equal(host.keyboard, 3);
});

test('a key about a row that is still on its way is done when the row is here, unless another key came', () => {
  host.open(flat(1, 900), [], { same: false });
  host.answer();
  host.press('End');
  host.press('Enter');
  assert.deepEqual(host.selected, []);
  host.answer();
  assert.deepEqual(host.selected, [900]);
  host.open(flat(1, 950), host.tree.landmarks());
  host.press('Enter');
  host.press('Home');
  host.answer();
  assert.deepEqual(host.selected, [900]);
});

test('a key that waits for its row is done once, however many layouts come meanwhile, and never to another row', () => {
  host.open(flat(1, 20), [], { same: false });
  host.answer();
  for (let step = 0; step < 5; step++) {
    host.press('ArrowDown');
  }
  assert.equal(host.keyboard, 5);
  host.open(flat(1, 21), host.tree.landmarks());
  host.press('c');
  host.open([{ id: 99, depth: 1 }, ...flat(1, 21)], host.tree.landmarks());
  host.open([{ id: 98, depth: 1 }, { id: 99, depth: 1 }, ...flat(1, 21)], host.tree.landmarks());
  assert.deepEqual(host.compared, []);
  host.answer();
  assert.deepEqual(host.compared, [5]);
  host.answer();
  // Its row is gone: nothing is done to the one in its place.
  host.open(flat(1, 20), host.tree.landmarks());
  host.press('c');
  host.open(flat(6, 20), host.tree.landmarks(), { near: 1 });
  host.answer();
  assert.deepEqual(host.compared, [5]);
});

test('what a filter hides is folded still when it is back', () => {
  const nested = [
    { id: 1, depth: 1 },
    { id: 2, depth: 2 },
    { id: 3, depth: 1 },
    { id: 4, depth: 2 },
  ];
  host.open(nested, [], { folded: [1, 3] });
  assert.deepEqual(host.tree.folds().folded, [1, 3]);
  host.open(nested.slice(2), [], { folded: host.tree.folds().folded });
  assert.deepEqual(host.tree.folds().folded.toSorted(), [1, 3]);
  host.open(nested, [], { folded: host.tree.folds().folded });
  host.answer();
  assert.deepEqual(
    host.seen().map(([, text]) => text),
    ['text of the question', 'text 1', 'text 3'],
  );
});

test('the replays of a message are folded until they are opened, and stay as the user left them', () => {
  // Message 1, with the lane -1 of two replays of it, then message 4.
  const laned = [
    { id: 1, depth: 1 },
    { id: -1, depth: 2 },
    { id: 2, depth: 3 },
    { id: 3, depth: 3 },
    { id: 4, depth: 1 },
  ];
  const lanes = (of: Host): readonly RowPlace[] => [of.place(-1)].filter((place) => place !== null);
  const words = (): readonly (string | null)[] => host.seen().map(([, text]) => text);
  host.open(laned, [], { same: false, lanes });
  host.answer();
  assert.equal(words().length, 4, 'question, message 1, its lane, message 4');
  assert.deepEqual(host.tree.folds(), { folded: [], opened: [] });
  for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'ArrowRight']) {
    host.press(key);
  }
  assert.equal(host.keyboard, -1);
  assert.equal(words().length, 6);
  assert.deepEqual(host.tree.folds(), { folded: [], opened: [-1] });
  // A key about the lane means the message whose replays it holds.
  host.press('Enter');
  assert.deepEqual(host.selected, [1]);
  // Another layout of the same transcript, and the page that comes back after a reload, leave it open.
  host.open(laned, host.tree.landmarks(), { ...host.tree.folds(), lanes });
  host.answer();
  assert.equal(words().length, 6);
  host.press('ArrowLeft');
  host.answer();
  assert.equal(words().length, 4);
  assert.deepEqual(host.tree.folds(), { folded: [], opened: [] });
});

test('what is brought into sight opens the lane that hides it', () => {
  const laned = [
    { id: 1, depth: 1 },
    { id: -1, depth: 2 },
    { id: 2, depth: 3 },
  ];
  const lanes = (of: Host): readonly RowPlace[] => [of.place(-1)].filter((place) => place !== null);
  host.open(laned, [], { same: false, lanes });
  host.answer();
  host.tree.reveal({ message: 2, index: 3, descendants: 0, ancestors: [0, 1, 2] });
  host.answer();
  assert.equal(host.keyboard, 2);
  assert.deepEqual(host.tree.folds(), { folded: [], opened: [-1] });
});

test('rows that the host failed to send are asked for again when they are next looked at', () => {
  host.open(flat(1, 900), [], { same: false });
  nextFrame();
  assert.deepEqual(host.asked.splice(0).at(-1), [2, 0]);
  host.scroll(5);
  assert.deepEqual(host.asked, [], 'asked once');
  host.tree.failed();
  nextFrame();
  assert.deepEqual(host.asked, [], 'not on its own: a host that fails always would be asked for ever');
  host.scroll(6);
  host.answer();
  assert.deepEqual(host.seen()[1]?.[1], 'text 1');
  // Rows of the layout before are not kept for an answer that does not come.
  host.open(flat(2, 900), host.tree.landmarks());
  nextFrame();
  host.tree.failed();
  assert.deepEqual(host.seen()[1]?.[1], null);
});
