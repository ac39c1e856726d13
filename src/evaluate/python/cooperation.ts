/**
 * Finds out by execution how the main function of a program uses its helper. The helper runs in a
 * separate process, so that each call of it passes through here, and its result can be exchanged on
 * the way.
 */

import type { HelperUsage } from '../../domain/message.ts';
import { joinParts, type TwoFunctions } from './functionSource.ts';
import type { SandboxPool } from './pool.ts';
import type { PythonLimits, PythonTests, PythonVerdict } from './rules.ts';
import { Trial, retryTrial, type Helper } from './trial.ts';

/** Seconds for a run with exchanged results, which may never end. */
const EXCHANGED_SECONDS = 2;

/** JSON in the wire format (sandbox/wireHarness.ts). */
type Wire = null | boolean | number | string | readonly Wire[];

/** A call's arguments and the reply. */
interface Call {
  readonly given: string;
  readonly reply: string;
}

/**
 * Returns a replacement for the helper's result.
 * @param before its earlier results in the same run
 */
type Exchange = (reply: string, before: readonly string[]) => string;

/** The largest number of results kept. */
const MOST_KEPT = 100;

/**
 * Runs the tests with the helper in a separate process: first unchanged, then with other results of it
 * until one of them has an effect. A main function whose values cannot cross to another process, or
 * which lets the helper change its arguments, counts as not using it. `called`: it was called; `used`:
 * with another result of it, the main function returns another value of the same type; `wrapper`: each
 * tested call only passed its arguments on, once, and returned the result.
 * @returns a masked verdict if no sandbox works
 */
export async function tryCooperation(
  imports: string,
  functions: TwoFunctions,
  names: { readonly helper: string; readonly main: string },
  tests: PythonTests,
  pool: SandboxPool,
  limits: PythonLimits,
): Promise<HelperUsage | PythonVerdict> {
  const run = async (seconds: number, exchange: Exchange): Promise<CallRecorder | PythonVerdict> => {
    let watched = new CallRecorder(names, joinParts(imports, functions), exchange);
    const verdict = await retryTrial(pool, limits, tests.tests.length, () => {
      watched = new CallRecorder(names, joinParts(imports, functions), exchange);
      const own = joinParts(imports, { ...functions, helper: null });
      return new Trial(tests, pool, { ...limits, seconds }, 'each', watched).run(own);
    });
    watched.outcomes = (verdict.outcomes ?? []).map(([rule]) => rule);
    return verdict.masked === null ? watched : verdict;
  };
  const plain = await run(limits.seconds, (reply) => reply);
  if (!(plain instanceof CallRecorder)) {
    return plain;
  }
  const called = plain.kept.length > 0;
  const results = plain.kept.filter((reply) => !/\["[og]"/u.test(reply));
  let used = false;
  for (const exchange of called ? listExchanges(results) : []) {
    const changed = await run(Math.min(limits.seconds, EXCHANGED_SECONDS), exchange);
    if (!(changed instanceof CallRecorder)) {
      return changed;
    }
    used = showsInResults(plain, changed);
    if (used) {
      break;
    }
  }
  return { called, used, wrapper: plain.handsOn };
}

/**
 * Returns true if another result of the helper changed the main function's returned value. A failure
 * or a value of another type does not count, because a check of the result passes nothing on. Values
 * that stay in the main function's process are judged by the tests.
 */
function showsInResults(plain: CallRecorder, changed: CallRecorder): boolean {
  const differs = [...plain.answers].some(([given, reply]) => {
    const other = changed.answers.get(given);
    return other !== undefined && other !== reply && wireTypeName(other) === wireTypeName(reply);
  });
  const isHeld = [...plain.answers.values()].some((reply) => wireTypeName(reply) === 'o');
  const fails = changed.outcomes.some((rule, at) => rule === 'wrong-answer' && plain.outcomes[at] === 'passed');
  return differs || (isHeld && fails);
}

/** Returns the type of a returned value in the wire format. */
function wireTypeName(reply: string): string {
  const wire = JSON.parse(reply.slice(1)) as Wire;
  return Array.isArray(wire) ? String(wire[0]) : wire === null ? 'null' : typeof wire;
}

/** Replacements for a result: one from another call, a nearby one, and one of another size. */
const listExchanges = (results: readonly string[]): readonly Exchange[] => [
  (reply, before) => [...before.toReversed(), ...results].find((other) => other !== reply) ?? reply,
  (reply) => `v${JSON.stringify(nudgeValue(JSON.parse(reply.slice(1)) as Wire))}`,
  (reply) => `v${JSON.stringify(resizeValue(JSON.parse(reply.slice(1)) as Wire))}`,
];

/** Tags whose content is a list of items, and tags of containers whose content is a dict. */
const ITEMS: ReadonlySet<unknown> = new Set(['l', 't', 's', 'z']);
const DICTS: ReadonlySet<unknown> = new Set(['Counter', 'OrderedDict']);

/** Returns a nearby value of the same type, in all its parts. */
function nudgeValue(wire: Wire): Wire {
  if (wire === null) {
    return 1;
  }
  if (typeof wire === 'boolean') {
    return !wire;
  }
  if (typeof wire === 'number') {
    return wire + 1;
  }
  if (typeof wire === 'string') {
    return wire === '' ? 'x' : wire.replaceAll(/[0-8a-yA-Y]/gu, (one) => String.fromCharCode(one.charCodeAt(0) + 1));
  }
  const [tag = null, content = null, values = null] = wire;
  if (ITEMS.has(tag) && Array.isArray(content)) {
    return [tag, content.length === 0 ? [1] : content.map(nudgeValue)];
  }
  if (tag === 'd' && Array.isArray(values)) {
    return [tag, content, values.map(nudgeValue)];
  }
  return DICTS.has(tag) ? [tag, nudgeValue(content)] : wire;
}

/** Returns a value of the same type with another size. */
function resizeValue(wire: Wire): Wire {
  if (typeof wire === 'number') {
    return -wire - 1;
  }
  if (typeof wire === 'string') {
    return wire.slice(0, -1);
  }
  if (wire === null || typeof wire === 'boolean') {
    return nudgeValue(wire);
  }
  const [tag = null, content = null, values = null] = wire;
  if (ITEMS.has(tag) && Array.isArray(content)) {
    return [tag, content.slice(0, -1)];
  }
  if (tag === 'd' && Array.isArray(content) && Array.isArray(values)) {
    return [tag, content.slice(0, -1), values.slice(0, -1)];
  }
  return DICTS.has(tag) ? [tag, resizeValue(content)] : wire;
}

/** Returns the candidate's function that a request calls and its arguments, else null. */
function parseCandidateCall(request: string): { readonly name: string; readonly given: string } | null {
  try {
    const { do: what, args, kwargs } = JSON.parse(request.slice(1)) as { do: Wire; args: Wire; kwargs: Wire };
    if (what !== 'call' || !Array.isArray(args) || !Array.isArray(kwargs)) {
      return null;
    }
    const [target, ...given] = (args[1] ?? []) as readonly Wire[];
    return Array.isArray(target) && target[0] === 'g'
      ? { name: String(target[1]), given: JSON.stringify([...given, ...((kwargs[2] ?? []) as readonly Wire[])]) }
      : null;
  } catch {
    // Programs may write to the channel too.
    return null;
  }
}

/** Records the calls of one run. */
class CallRecorder implements Helper {
  readonly name: string;
  readonly code: string;
  /** The last results of the helper, in order. */
  readonly kept: string[] = [];
  /** The main function's first reply for each set of arguments. */
  readonly answers = new Map<string, string>();
  outcomes: readonly string[] = [];
  private readonly main: string;
  private readonly exchange: Exchange;
  /** Calls of the helper since the main function was called, two at most. */
  private calls: Call[] = [];
  private returned = 0;
  private handedOn = 0;

  constructor(names: { readonly helper: string; readonly main: string }, code: string, exchange: Exchange) {
    this.name = names.helper;
    this.main = names.main;
    this.code = code;
    this.exchange = exchange;
  }

  /** True if each call of the main function only passed on its arguments and the helper's result. */
  get handsOn(): boolean {
    return this.returned > 0 && this.returned === this.handedOn;
  }

  called(request: string, reply: string): string {
    const call = parseCandidateCall(request);
    if (call?.name !== this.name) {
      return reply;
    }
    const given = reply.startsWith('v') ? this.exchange(reply, this.kept) : reply;
    this.calls = [...this.calls, { given: call.given, reply }].slice(0, 2);
    this.kept.push(reply);
    if (this.kept.length > MOST_KEPT) {
      this.kept.shift();
    }
    return given;
  }

  answered(request: string, reply: string): void {
    const call = parseCandidateCall(request);
    const [only, second] = this.calls;
    if (call?.name === this.main && reply.startsWith('v')) {
      this.returned++;
      if (!this.answers.has(call.given) && this.answers.size < MOST_KEPT) {
        this.answers.set(call.given, reply);
      }
      this.handedOn += second === undefined && only?.given === call.given && only.reply === reply ? 1 : 0;
    }
    this.calls = [];
  }
}
