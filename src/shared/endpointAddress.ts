/** Addresses of servers as people write them. */

/** Characters of an address at most. */
const LONGEST = 500;

/** What is wrong with the base address of a server, as words behind its name; null where nothing is. */
export function endpointFault(text: string): string | null {
  if (!URL.canParse(text) || !/^https?:\/\//iu.test(text.trim())) {
    return 'must be an address such as https://api.example.com/v1';
  }
  if (text.length > LONGEST) {
    return `must have at most ${LONGEST} characters`;
  }
  const { username, password, search, hash } = new URL(text);
  return username + password + search + hash === ''
    ? null
    : 'must have no name, key or query in it; keys are variables of the environment';
}

/** The address without what does not count: space around it, and the slashes at its end. */
export const plainEndpoint = (text: string): string => text.trim().replace(/\/+$/u, '');
