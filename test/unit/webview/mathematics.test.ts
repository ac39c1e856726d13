import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeDocument, MadeElement } from './madeDocument.ts';

makeDocument();
const { formulaOf } = await import('../../../webview/transcript/message/mathematics.ts');

/** Elements and attributes of MathML that do nothing but say how mathematics looks. */
const ELEMENTS = new Set([
  'span',
  'math',
  'semantics',
  'annotation',
  'mrow',
  'mi',
  'mn',
  'mo',
  'ms',
  'mtext',
  'mspace',
  'msup',
  'msub',
  'msubsup',
  'mfrac',
  'msqrt',
  'mroot',
  'munder',
  'mover',
  'munderover',
  'mtable',
  'mtr',
  'mtd',
  'mstyle',
  'mpadded',
  'menclose',
]);
const ATTRIBUTES = new Set([
  'xmlns',
  'class',
  'display',
  'encoding',
  'stretchy',
  'fence',
  'separator',
  'mathvariant',
  'lspace',
  'rspace',
  'width',
  'height',
  'voffset',
  'scriptlevel',
  'displaystyle',
  'minsize',
  'maxsize',
  'accent',
  'accentunder',
  'linethickness',
  'columnalign',
  'columnspacing',
  'rowspacing',
  'columnlines',
  'rowlines',
  'notation',
  'movablelimits',
  'largeop',
  'symmetric',
  'mathsize',
  'form',
  'depth',
  'linebreak',
]);

function set(tex: string, display = false): MadeElement | null {
  const element: unknown = formulaOf(tex, display);
  assert.ok(element === null || element instanceof MadeElement);
  return element;
}

/** Local names of a formula in order, the annotation with what was written left out. */
function shape(tex: string): string {
  return (
    set(tex)
      ?.all()
      .map(({ localName }) => localName)
      .filter((name) => !['span', 'math', 'semantics', 'annotation'].includes(name))
      .join(' ') ?? 'as written'
  );
}

test('mathematics becomes MathML', () => {
  assert.equal(shape('x^2'), 'mrow msup mi mn');
  assert.equal(shape('\\frac{1}{2}'), 'mrow mfrac mn mn');
  assert.equal(shape('\\sqrt{x}'), 'mrow msqrt mi');
  assert.equal(
    set('\\boxed{42}')
      ?.all()
      .find(({ localName }) => localName === 'menclose')
      ?.getAttribute('notation'),
    'box',
  );
  assert.equal(
    set('x', true)
      ?.all()
      .find(({ localName }) => localName === 'math')
      ?.getAttribute('display'),
    'block',
  );
  assert.equal(
    set('x')
      ?.all()
      .find(({ localName }) => localName === 'math')
      ?.getAttribute('display'),
    null,
  );
  for (const tex of [
    '\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}',
    '\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}',
    '\\text{total} \\approx 3.14\\%',
    'x \\in \\mathbb{R}, \\; y \\neq 0',
    '\\left( \\dfrac{a}{b} \\right)',
    '\\begin{aligned} x &= 1 \\\\ y &= 2 \\end{aligned}',
    '\\color',
    '\\times',
  ]) {
    assert.equal(set(tex, true) === null, tex === '\\color', tex);
  }
});

test('what does not parse, is refused or is too much stays as it was written', () => {
  for (const tex of [
    '\\frac{1}{',
    'x^^2',
    '}',
    '\\unknown',
    '\\begin{nothing}',
    '\\href{https://c3-canary.invalid}{x}',
    '\\href{command:c3.startRun}{x}',
    '\\url{https://c3-canary.invalid}',
    '\\includegraphics{https://c3-canary.invalid/a.png}',
    '\\htmlClass{a}{x}',
    '\\htmlId{app}{x}',
    '\\htmlStyle{color:red}{x}',
    '\\htmlData{a=b}{x}',
    '\\def\\a{\\a\\a}\\a',
    '\\gdef\\a{x}\\a',
    '\\newcommand{\\a}{x}\\a',
    '\\let\\a\\b',
    '\\global\\let\\a\\b',
    '\\char"202E',
    '\\fcolorbox{red}{white}{x}',
    '\\pmb{x}',
    '\\phantom{x}',
    '\\rlap{x}y',
    '\\mathllap{x}y',
    '\\kern-9em x',
    '\\hspace{-9em} x',
    '\\raisebox{9em}{x}',
    '\\rule{9em}{9em}',
    '\\textcolor{white}{x}',
    '\\cancel{x}',
    '\\@firstoftwo{x}{y}',
    '{'.repeat(60) + 'x' + '}'.repeat(60) + '^2',
    `${'\\sqrt'.repeat(60)} x`,
    '\\frac{1}{'.repeat(100) + 'x' + '}'.repeat(100),
    '\\sqrt{'.repeat(20_000),
  ]) {
    const element = set(tex);
    // Braces alone make no element.
    if (tex.startsWith('{{')) {
      assert.ok(element === null || element.all().length < 60);
    } else {
      assert.equal(element, null, tex.slice(0, 40));
    }
  }
});

test('a formula is made of mathematics and text only, whatever was written', () => {
  const hostile = [
    '<script>globalThis.c3Canary=1</script>',
    '<img src=x onerror=1>',
    '\\text{<script>alert(1)</script>}',
    '"\' onclick=1',
    '\\text{[x](command:c3.startRun)}',
    '\\operatorname{<b>}',
    '\\mathrm{a"b}',
    '\\underbrace{x}_{<i>}',
    '\\overset{<a href=x>}{y}',
    'a\\,b\\;c\\quad d',
    '\\tiny x \\Huge y',
    '\\boxed{<b>}',
    '\\begin{array}{|c|c|} a & b \\\\ \\hline c & d \\end{array}',
    '\\left\\{ x \\right\\}',
    '\\mathchoice{a}{b}{c}{d}',
    '\\stackrel{a}{=}',
    '\\overline{x} \\vec{y} \\hat{z}',
    'x\\tag{1}',
    '\\not= \\xrightarrow{f}',
  ];
  let shown = 0;
  for (const tex of hostile) {
    for (const element of set(tex, true)?.all() ?? []) {
      shown++;
      assert.ok(ELEMENTS.has(element.localName), `${tex}: <${element.localName}>`);
      for (const name of element.attributes.keys()) {
        assert.ok(ATTRIBUTES.has(name), `${tex}: ${name}`);
      }
      assert.deepEqual(element.style, {});
    }
  }
  assert.ok(shown > 100);
  assert.equal('c3Canary' in globalThis, false);
});
