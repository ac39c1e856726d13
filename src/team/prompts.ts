/** Prompts that replace those of a protocol's roles. */

import { suggestName, type KeyPath } from './document.ts';
import { requireRole, type Protocol } from './protocol.ts';

/** Prompts by role. */
export type Prompts = Readonly<Record<string, string>>;

/** Returns a protocol with other prompts for some of its roles. Unknown role names are ignored. */
export const replacePrompts = (protocol: Protocol, prompts: Prompts): Protocol => ({
  ...protocol,
  roles: protocol.roles.map((role) =>
    Object.hasOwn(prompts, role.name) ? { ...role, prompt: prompts[role.name] ?? role.prompt } : role,
  ),
});

/**
 * Returns the fault in a new prompt of a role, as a sentence that begins with the prompt's name, or
 * null if there is none. Names in braces that the role's own prompt has are valid.
 * @throws C3Error('input') for an unknown role
 */
export function findPromptFault(protocol: Protocol, role: string, prompt: string): string | null {
  const own = requireRole(protocol, role).prompt;
  if (prompt.trim() === '') {
    return `The new prompt of the role ${role} is blank; write what the role is to do.`;
  }
  const known = new Set([
    'question',
    'context',
    ...protocol.roles.flatMap(({ name }) => [name, `${name}_output`]),
    ...listBracedNames(own),
  ]);
  const unknown = listBracedNames(prompt).find((name) => !known.has(name));
  return unknown === undefined
    ? null
    : `The new prompt of the role ${role} has {${unknown}}, for which nothing is put in; use {question}, {context} or {ROLE_output}, or double the braces.`;
}

/** Returns the fault in the key `prompts` of a run, as words that follow the key, or null. */
export function findPromptsFault(
  protocol: Protocol,
  prompts: Prompts = {},
): { readonly path: KeyPath; readonly sentence: string } | null {
  const names = protocol.roles.map(({ name }) => name);
  for (const [role, prompt] of Object.entries(prompts)) {
    const sentence = names.includes(role)
      ? findPromptFault(protocol, role, prompt)
      : `the protocol ${protocol.name} has no such role; ${suggestName(role, names)}`;
    if (sentence !== null) {
      return { path: ['prompts', role], sentence };
    }
  }
  return null;
}

/** Returns the names in single braces. */
const listBracedNames = (text: string): string[] =>
  [...text.replaceAll(/\{\{|\}\}/gu, ' ').matchAll(/\{([A-Za-z_]\w*)\}/gu)].map(([, name = '']) => name);
