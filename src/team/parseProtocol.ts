/** Reads a protocol from a roles file: the published list, or a mapping that also has turns. */

import { asList, asMapping, readDocument, suggestName, type KeyPath, type SourceDocument } from './document.ts';
import { readRounds, type GivenRounds } from './parseRounds.ts';
import type { Occurrence, Protocol, Role } from './protocol.ts';

const PROTOCOL_KEYS = ['name', 'roles', 'turns', 'scored', 'rounds'];
const ROLE_KEYS = ['role', 'name', 'prompt', 'with_answer', 'depends_on', 'max_new_tokens'];
const TURN_KEYS = ['id', 'role', 'depends_on'];
const MAX_NAME = 100;

interface RoleEntry extends Role {
  readonly withAnswer: boolean;
  readonly dependsOn: readonly Reference[];
  readonly path: KeyPath;
}

interface Turn {
  readonly id: string;
  readonly role: string;
  readonly dependsOn: readonly Reference[];
  readonly path: KeyPath;
}

/** A name in the file, with its path. */
interface Reference {
  readonly name: string;
  readonly path: KeyPath;
}

/**
 * Reads a protocol from JSON or YAML text, in one of two forms:
 * - a list of roles `{role, prompt, with_answer?, depends_on?, max_new_tokens?}` (`name` may replace `role`), each of
 *   which speaks once;
 * - `{name?, roles, turns?, scored?}`, where `turns` lists `{id?, role, depends_on?}` with turn ids in `depends_on`,
 *   and `scored` lists turn ids. A turn's id is its role's name by default, then role#2, role#3, ... With `turns`, no
 *   role has `depends_on`.
 *
 * With `rounds`, these turns are one round, which is repeated as described for readRounds.
 *
 * The turns in `scored` are scored; without it, every turn of a role with `with_answer`; without any,
 * the last turn in canonical order.
 * @param source origin of the text, for messages and for the default name (its file name without the
 *   extension)
 * @param given settings of a run that replace the rounds of the file, if it has rounds
 * @throws C3Error('input') with the source, line and key: text that cannot be parsed, a missing or
 *   wrong value, an unknown key, an unknown or repeated name, a cycle, or no turns
 */
export function parseProtocol(text: string, source: string, given: GivenRounds = {}): Protocol {
  const document = readDocument(text, source);
  const { value, error } = document;
  if (Array.isArray(value)) {
    const roles = readRoles(value, [], document);
    return assembleProtocol(defaultName(source), roles, toTurns(roles), null, document);
  }
  if (typeof value !== 'object' || value === null) {
    throw error([], `must be a list of roles, or a mapping with the keys ${PROTOCOL_KEYS.join(', ')}.`);
  }
  const fields = asMapping(value, [], PROTOCOL_KEYS, document);
  const name = fields.has('name') ? readName(fields.get('name'), ['name'], document) : defaultName(source);
  const roles = readRoles(fields.get('roles'), ['roles'], document);
  const turns = fields.has('turns') ? readTurns(fields.get('turns'), roles, document) : toTurns(roles);
  const scored = fields.has('scored') ? readReferences(fields.get('scored'), ['scored'], document) : null;
  if (scored?.length === 0) {
    throw error(['scored'], 'is empty; name at least one turn, or leave the key out to score the last.');
  }
  const team = assembleProtocol(name, roles, turns, scored, document);
  if (!fields.has('rounds')) {
    return team;
  }
  const isScoringNamed = scored !== null || roles.some(({ withAnswer }) => withAnswer);
  return readRounds(fields.get('rounds'), team, isScoringNamed, document, given);
}

function defaultName(source: string): string {
  const file = source.split(/[\\/]/).at(-1) ?? source;
  return file.replace(/(?<=.)\.[^.]*$/, '');
}

function readRoles(value: unknown, path: KeyPath, document: SourceDocument): RoleEntry[] {
  const { error } = document;
  const roles: RoleEntry[] = [];
  for (const [index, item] of asList(value, path, 'roles', document).entries()) {
    const role = readRole(item, [...path, index], document);
    if (roles.some((other) => other.name === role.name)) {
      throw error([...path, index, 'role'], `the name '${role.name}' is taken by an earlier role.`);
    }
    roles.push(role);
  }
  for (const { name, path: at } of roles) {
    // A placeholder must have one meaning.
    if (name === 'question' || name === 'context') {
      throw error([...at, 'role'], `'${name}' is reserved for the placeholder {${name}}; choose another name.`);
    }
    if (roles.some((other) => name === `${other.name}_output`)) {
      throw error([...at, 'role'], `'${name}' is also the placeholder of another role's output; choose another name.`);
    }
  }
  return roles;
}

function readRole(value: unknown, path: KeyPath, document: SourceDocument): RoleEntry {
  const { error } = document;
  const fields = asMapping(value, path, ROLE_KEYS, document);
  if (fields.has('role') && fields.has('name')) {
    throw error([...path, 'name'], "means the same as 'role'; give one of the two.");
  }
  const key = fields.has('name') ? 'name' : 'role';
  const name = readName(fields.get(key), [...path, key], document);
  const prompt = fields.get('prompt');
  if (typeof prompt !== 'string' || prompt.trim() === '') {
    throw error([...path, 'prompt'], `role '${name}' needs a prompt, a text that is not blank.`);
  }
  const withAnswer = fields.has('with_answer') ? fields.get('with_answer') : false;
  if (typeof withAnswer !== 'boolean') {
    throw error([...path, 'with_answer'], 'must be true or false.');
  }
  const maxNewTokens = fields.has('max_new_tokens') ? fields.get('max_new_tokens') : null;
  if (
    maxNewTokens !== null &&
    (typeof maxNewTokens !== 'number' || !Number.isSafeInteger(maxNewTokens) || maxNewTokens < 1)
  ) {
    throw error([...path, 'max_new_tokens'], 'must be a whole number of at least 1.');
  }
  return {
    name,
    prompt,
    withAnswer,
    maxNewTokens,
    dependsOn: readReferences(fields.get('depends_on'), [...path, 'depends_on'], document),
    path,
  };
}

function readName(value: unknown, path: KeyPath, { error }: SourceDocument): string {
  const name = typeof value === 'string' ? value.trim() : '';
  if (name === '') {
    throw error(path, 'must be a name, a text that is not blank.');
  }
  if (name.length > MAX_NAME || /[\p{Cc}\p{Cs}{}]/u.test(name)) {
    throw error(path, `must be at most ${MAX_NAME} characters, without braces and control characters.`);
  }
  return name;
}

/** Reads a list of names without repetition; empty if the key is missing or null. */
function readReferences(value: unknown, path: KeyPath, document: SourceDocument): Reference[] {
  if (value === undefined || value === null) {
    return [];
  }
  if (!Array.isArray(value)) {
    throw document.error(path, 'must be a list of names.');
  }
  const references = new Map<string, Reference>();
  for (const [index, item] of value.entries()) {
    const reference = { name: readName(item, [...path, index], document), path: [...path, index] };
    if (!references.has(reference.name)) {
      references.set(reference.name, reference);
    }
  }
  return [...references.values()];
}

function toTurns(roles: readonly RoleEntry[]): Turn[] {
  return roles.map(({ name, dependsOn, path }) => ({ id: name, role: name, dependsOn, path }));
}

function readTurns(value: unknown, roles: readonly RoleEntry[], document: SourceDocument): Turn[] {
  const { error } = document;
  const names = roles.map((role) => role.name);
  const spoken = new Map<string, number>();
  const turns: Turn[] = [];
  for (const [index, item] of asList(value, ['turns'], 'turns', document).entries()) {
    const path = ['turns', index];
    const fields = asMapping(item, path, TURN_KEYS, document);
    const role = readName(fields.get('role'), [...path, 'role'], document);
    if (!names.includes(role)) {
      throw error([...path, 'role'], `no role is called '${role}'; ${suggestName(role, names)}`);
    }
    const count = (spoken.get(role) ?? 0) + 1;
    spoken.set(role, count);
    const id = fields.has('id')
      ? readName(fields.get('id'), [...path, 'id'], document)
      : count === 1
        ? role
        : `${role}#${count}`;
    if (turns.some((other) => other.id === id)) {
      throw error([...path, 'id'], `the id '${id}' is taken by an earlier turn.`);
    }
    turns.push({
      id,
      role,
      dependsOn: readReferences(fields.get('depends_on'), [...path, 'depends_on'], document),
      path,
    });
  }
  for (const role of roles) {
    if (role.dependsOn.length > 0) {
      throw error([...role.path, 'depends_on'], "repeats the dependencies; with 'turns', set them in the turns.");
    }
    if (!spoken.has(role.name)) {
      throw error(role.path, `role '${role.name}' has no turn; give it one or remove it.`);
    }
  }
  return turns;
}

/** Orders the turns, and resolves their dependencies and the scored ones. */
function assembleProtocol(
  name: string,
  roles: readonly RoleEntry[],
  turns: readonly Turn[],
  scored: readonly Reference[] | null,
  document: SourceDocument,
): Protocol {
  const { error } = document;
  const ids = turns.map((turn) => turn.id);
  const indexOf = new Map(ids.map((id, index) => [id, index]));
  const resolve = (reference: Reference): number => {
    const index = indexOf.get(reference.name);
    if (index === undefined) {
      throw error(reference.path, `no role or turn is called '${reference.name}'; ${suggestName(reference.name, ids)}`);
    }
    return index;
  };
  const nodes = turns.map((turn) => ({ parents: turn.dependsOn.map(resolve) }));
  const sorted = sortCanonically(nodes);
  if ('cycle' in sorted) {
    const [first = 0] = sorted.cycle;
    throw error(
      [...(turns[first]?.path ?? []), 'depends_on'],
      `is circular: ${sorted.cycle.map((index) => ids[index]).join(' -> ')}; no role could start.`,
    );
  }
  const positions = new Map(sorted.order.map((index, position) => [index, position]));
  const placed = sorted.order.map((index) => ({
    parents: (nodes[index]?.parents ?? []).map((parent) => positions.get(parent) ?? 0).sort((a, b) => a - b),
  }));
  const ancestors = listTransitiveParents(placed);
  const answering = new Set(roles.filter((role) => role.withAnswer).map((role) => role.name));
  const chosen = scored === null ? null : new Set(scored.map(resolve));
  const isScored = (index: number, role: string): boolean =>
    chosen !== null ? chosen.has(index) : answering.size > 0 ? answering.has(role) : index === sorted.order.at(-1);

  const spoken = new Map<string, number>();
  const occurrences = sorted.order.flatMap((index, position): Occurrence[] => {
    const turn = turns[index];
    if (turn === undefined) {
      return [];
    }
    const earlier = spoken.get(turn.role) ?? 0;
    spoken.set(turn.role, earlier + 1);
    const { parents } = placed[position] ?? { parents: [] };
    return [
      {
        id: turn.id,
        role: turn.role,
        turn: earlier,
        position,
        parents,
        ancestors: ancestors[position] ?? [],
        scored: isScored(index, turn.role),
      },
    ];
  });
  return {
    name,
    roles: roles.map(({ name: role, prompt, maxNewTokens }) => ({ name: role, prompt, maxNewTokens })),
    occurrences,
  };
}

/** A node of the dependency graph: its parents as indices into the same list. */
interface GraphNode {
  readonly parents: readonly number[];
}

/**
 * Returns Kahn's order with a first-in-first-out queue, filled in the list's order.
 * @returns the indices in canonical order; if there is none, a `cycle` with its first index repeated
 *   at the end
 */
function sortCanonically(nodes: readonly GraphNode[]): { readonly order: number[] } | { readonly cycle: number[] } {
  const waiting = nodes.map((node) => node.parents.length);
  const children: number[][] = nodes.map(() => []);
  for (const [index, node] of nodes.entries()) {
    for (const parent of node.parents) {
      children[parent]?.push(index);
    }
  }
  const order = [...waiting.keys()].filter((index) => waiting[index] === 0);
  // The list grows during the loop: it is the queue.
  for (const index of order) {
    for (const child of children[index] ?? []) {
      const left = (waiting[child] ?? 0) - 1;
      waiting[child] = left;
      if (left === 0) {
        order.push(child);
      }
    }
  }
  return order.length === nodes.length ? { order } : { cycle: findCycle(nodes, new Set(order)) };
}

/** Follows parents from an unordered node until one repeats, since each has an unordered parent. */
function findCycle(nodes: readonly GraphNode[], ordered: ReadonlySet<number>): number[] {
  const path: number[] = [];
  let next: number | undefined = [...nodes.keys()].find((index) => !ordered.has(index));
  while (next !== undefined && !path.includes(next)) {
    path.push(next);
    next = nodes[next]?.parents.find((parent) => !ordered.has(parent));
  }
  const cycle = next === undefined ? path : [...path.slice(path.indexOf(next)), next];
  // The walk went against the arrows.
  return cycle.reverse();
}

/** Returns the transitive parents of each node, ascending. Parents must be before their children. */
function listTransitiveParents(nodes: readonly GraphNode[]): number[][] {
  const ancestors: number[][] = [];
  for (const node of nodes) {
    const seen = new Set<number>();
    // The last parent comes first: its own ancestors need no second visit.
    for (const parent of node.parents.toSorted((a, b) => b - a)) {
      if (seen.has(parent)) {
        continue;
      }
      seen.add(parent);
      for (const above of ancestors[parent] ?? []) {
        seen.add(above);
      }
    }
    ancestors.push([...seen].sort((a, b) => a - b));
  }
  return ancestors;
}
