import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Disposables } from '../../../../src/extension/common/disposables.ts';
import { Throttle } from '../../../../src/extension/common/throttle.ts';
import { formatDoctorReport } from '../../../../src/extension/engine/doctorReport.ts';
import { formatPlanReport } from '../../../../src/extension/run/planReport.ts';
import { createWebviewPage } from '../../../../src/extension/webview/webviewPage.ts';

test('work is done at once, then at most once per interval, and never forgotten', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    let done = 0;
    const throttle = new Throttle(1000, () => {
      done++;
    });
    throttle.trigger();
    assert.equal(done, 1);
    for (let time = 0; time < 5; time++) {
      throttle.trigger();
    }
    assert.equal(done, 1);
    mock.timers.tick(1000);
    assert.equal(done, 2, 'what was asked for meanwhile is done once');
    mock.timers.tick(1000);
    assert.equal(done, 2);
    throttle.trigger();
    assert.equal(done, 3);
    throttle.trigger();
    throttle.dispose();
    mock.timers.tick(5000);
    assert.equal(done, 3);
  } finally {
    mock.timers.reset();
  }
});

test('what is added to a list that was disposed of is disposed of at once', () => {
  const order: string[] = [];
  const item = (name: string): { dispose(): void } => ({ dispose: () => order.push(name) });
  const disposables = new Disposables();
  disposables.add(item('a'));
  disposables.add(item('b'));
  disposables.dispose();
  disposables.dispose();
  disposables.add(item('late'));
  assert.deepEqual(order, ['b', 'a', 'late']);
});

test('a panel page allows one script by nonce and its own styles, and nothing from outside', () => {
  const parts = {
    title: 'A "quoted" <title>',
    cspSource: 'https://webview.example',
    script: 'https://webview.example/a.js?x=1&y="2"',
    style: 'https://webview.example/a.css',
  };
  const page = createWebviewPage(parts);
  const policy = /Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1] ?? '';
  const nonce = /<script nonce="([\w-]+)"/.exec(page)?.[1] ?? '';
  const styleNonce = /<meta property="csp-nonce" content="([\w-]+)">/.exec(page)?.[1] ?? '';
  assert.equal(
    policy,
    `default-src 'none'; script-src 'nonce-${nonce}'; style-src https://webview.example 'nonce-${styleNonce}'`,
  );
  assert.notEqual(nonce, styleNonce, 'what the page names must not run a script');
  assert.ok(nonce.length >= 32);
  assert.notEqual(nonce, /nonce="([\w-]+)"/.exec(createWebviewPage(parts))?.[1]);
  assert.ok(page.includes('<title>A &quot;quoted&quot; &lt;title&gt;</title>'));
  assert.ok(page.includes('src="https://webview.example/a.js?x=1&amp;y=&quot;2&quot;"'));
  assert.equal(page.match(/<script/g)?.length, 1);
});

test('the doctor says of every provider whether it is there and what its self-test found', () => {
  const text = formatDoctorReport({
    providers: [
      { name: 'cpu', available: true, selfTest: 'passed', batchInvariance: '0 differing', device: 'processor' },
      { name: 'webgpu', available: false, selfTest: null, batchInvariance: null, device: null },
    ],
    versions: { node: '24.21.0' },
    store: { path: '/a/c3.sqlite', state: 'healthy', findings: [], extent: '' },
  });
  assert.match(text, /^ {2}cpu {5}available {2}passed$/m);
  assert.match(text, /^ {2}webgpu {2}not used {3}self-test not run$/m);
  assert.match(text, /^ {2}\/a\/c3\.sqlite\n {2}healthy$/m);
});

test('a plan is a narrow document with the verdict before the numbers, and the advice in lines', () => {
  const cost = (factor: number): { evaluatorCalls: number; decisions: Record<string, number>; tokens: number } => ({
    evaluatorCalls: 8 * factor,
    decisions: { reasoner: 4 * factor, actor: 8 * factor },
    tokens: 1000 * factor,
  });
  const item = (name: string, bytes: number): { name: string; place: 'host'; bytes: number; advice: null } => ({
    name,
    place: 'host',
    bytes,
    advice: null,
  });
  const budget = { steps: 2, evaluations: 3, perStep: cost(1), perEvaluation: cost(2), total: cost(1234) };
  const fits = formatPlanReport('a.c3.yaml', {
    memory: {
      items: [item('Program and store', 9e6), item('Weights', 120e6)],
      totals: [{ place: 'host', bytes: 129e6, available: 8e9, fits: true }],
      advice: [],
    },
    budget,
    seconds: { value: 130, low: 83, high: 200, basis: 'model', runs: 0 },
  });
  assert.equal(
    fits,
    [
      'C3 plan of a.c3.yaml',
      '',
      'Main memory: fits',
      '  at most 129 MB needed, 8 GB available',
      '    9 MB  Program and store',
      '  120 MB  Weights',
      '',
      'Cost, at most',
      '                         total  a step  an evaluation',
      '  evaluator calls        9,872       8             16',
      '  reasoner messages      4,936       4              8',
      '  actor messages         9,872       8             16',
      '  new tokens         1,234,000   1,000          2,000',
      '  Total: 2 steps and 3 evaluations',
      '',
      'Time: about 2 min',
      '  85 s to 3 min, from a short trial of the',
      '  model on this machine',
      '',
    ].join('\n'),
  );
  const advice = [
    'sampling.max_new_tokens: 24 saves 5 GB, and it takes no more than one line of a file to say so.',
    'Together they are enough.',
  ];
  const lacks = formatPlanReport('b.c3.yaml', {
    memory: {
      items: [],
      totals: [
        { place: 'host', bytes: 9e9, available: 8e9, fits: false },
        { place: 'device', bytes: 1e9, available: null, fits: null },
      ],
      advice,
    },
    budget,
    seconds: null,
  });
  assert.match(lacks, /^Time\n {2}unknown until the first steps are done$/mu);
  assert.match(
    lacks,
    /Main memory: DOES NOT FIT\n {2}at most 9 GB needed, 8 GB available\n\nDevice memory\n {2}at most 1 GB needed, how much is available is unknown\n\nWhat to change, most effective first\n1\. {2}sampling[^\n]*\n {4}\S[^\n]*\n2\. {2}Together/u,
  );
  assert.ok(lacks.split('\n').every((line) => line.length <= 64));
});
