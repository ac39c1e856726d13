/** Which calls are recorded, by the path that they ask. */
import { API_PATHS, type RecordedApi } from '../../chat/apiCalls.ts';
import { oneLine } from '../../shared/text/oneLine.ts';

/** What clients put before the paths of the protocol: its version again, or a deployment of Azure. */
const BEFORE = /^(?:\/openai)?(?:\/v1|\/deployments\/[^/]+)?(?=\/)/u;
/** Paths that are counted by name, and characters of one. */
const MOST_PATHS = 20;
const MOST_PATH = 100;

/** A path of a request without its query and the slashes at its end. */
function plainPath(path: string): string {
  const [plain = ''] = path.split('?', 1);
  // No pattern: a path may be a row of slashes that ends with something else.
  let end = plain.length;
  while (plain[end - 1] === '/') {
    end--;
  }
  return plain.slice(0, end);
}

/**
 * The protocol of a path that is asked below a server's base address.
 * @param path with its query, such as `/chat/completions?api-version=1`
 * @returns null for one whose calls are not recorded
 */
export function apiIn(path: string): RecordedApi | null {
  const apis: Readonly<Record<string, RecordedApi>> = API_PATHS;
  const plain = plainPath(path).replace(BEFORE, '');
  return Object.hasOwn(apis, plain) ? (apis[plain] ?? null) : null;
}

/** Says which calls were not recorded: by path, as many paths as a report has lines for. */
export class OtherPaths {
  private readonly named = new Set<string>();

  /** Why a call of this path was left out. */
  reasonFor(path: string): string {
    const name = oneLine(`/v1${plainPath(path)}`, MOST_PATH);
    if (this.named.size < MOST_PATHS) {
      this.named.add(name);
    }
    return `calls of ${this.named.has(name) ? name : 'further paths'}, which are not recorded`;
  }
}
