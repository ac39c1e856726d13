/** Addresses of servers as users write them. */

/** Most characters of an address. */
const LONGEST = 500;

/** Returns the fault in a server's base address, as words that follow its name, or null. */
export function findEndpointFault(text: string): string | null {
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

/** Returns the address without surrounding space and final slashes. */
export const trimEndpoint = (text: string): string => text.trim().replace(/\/+$/u, '');
