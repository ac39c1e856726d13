/**
 * Grows a rollout tree of turns (MAGRPO reference section 2). A node is one turn of one branch, at
 * which each role gives G messages. A joint action is one message of each role: with `align` the
 * j-th of all roles, with `cross` every combination, the first role slowest. Every joint action is
 * a path through the rows of its node. It is scored, and a node of its own continues it.
 */

import type { PolicyControl } from '../policy/policy.ts';
import { countFanoutCalls, messagesPerTurn } from '../team/rounds.ts';
import { growLevel } from './episodes.ts';
import type { Place, TreeSettings } from './grow.ts';
import { jointFanout, computeJointReward, TERMINATION, type JointGrowth, type Stop } from './jointTree.ts';
import type { Branch, TreeEvent, TreeMessage } from './tree.ts';

/** A joint action of a node: its messages so far, and its index among the node's actions. */
interface Row {
  readonly branch: Branch;
  /** The index of its node among all possible nodes of its turn and problem. */
  readonly node: number;
  readonly action: number;
}

/**
 * Grows a tree below every branch. The g-th message of a role at the n-th node of a turn draws from
 * the stream of that role and turn with the number n G + g. With `cross`, a role has a row for
 * every combination of the earlier roles. All of these rows are one sample, and the policy is asked
 * once.
 * @returns the first messages, in order
 * @throws CancelledError; C3Error('budget') before anything is sampled if the budget is too small
 *   for all leaves
 */
export async function growJoint(
  given: TreeSettings,
  branches: readonly Branch[],
  joint: JointGrowth,
  control: PolicyControl,
): Promise<TreeMessage[]> {
  const settings = { ...given, commonRandomNumbers: true };
  const { generations, mode } = joint;
  const perTurn = messagesPerTurn(settings.protocol);
  const fanout = jointFanout(joint, settings.protocol.occurrences.length, perTurn);
  settings.budget.check(branches.length * countFanoutCalls(settings.protocol, fanout));
  const actions = mode === 'cross' ? generations ** perTurn : generations;
  let roots: TreeMessage[] | undefined;
  let rows = branches.map((branch): Row => ({ branch, node: 0, action: 0 }));
  for (let level = 0; rows.length > 0; level++) {
    const slot = level % perTurn;
    const spreads = mode === 'cross' || slot === 0;
    const messages = await growLevel(
      settings,
      rows.map(({ branch }) => branch),
      control,
      (branch, index) => {
        const { node, action } = rows[index] ?? { node: 0, action: 0 };
        const first = spreads ? 0 : action;
        return Array.from({ length: spreads ? generations : 1 }, (_, sibling) =>
          makeJointPlace(branch, sibling, node * generations + first + sibling),
        );
      },
    );
    roots ??= messages.flat();
    const said = messages.flatMap((own, index) => {
      const { node, action } = rows[index] ?? { node: 0, action: 0 };
      return own.map((message, g): Row => {
        const branch = { problem: message.problem, message };
        return { branch, node, action: mode === 'cross' ? action * generations + g : spreads ? g : action };
      });
    });
    if (slot < perTurn - 1) {
      rows = said;
      continue;
    }
    // After the last turn there is nothing to stop.
    const ended = level + 1 < fanout.length ? stopNodes(said, joint.stop, perTurn) : said;
    rows = ended.map(({ branch, node, action }) => ({ branch, node: node * actions + action, action: 0 }));
  }
  return roots ?? [];
}

/** Returns the place of an alternative at the first position, or of its continuation at a later one. */
const makeJointPlace = ({ message }: Branch, sibling: number, number: number): Place =>
  message === null
    ? { sibling, alternative: sibling, replay: null }
    : { sibling, alternative: message.alternative, replay: number };

/** Returns the rows of a turn, with the event that ends them if their node stops. */
function stopNodes(rows: readonly Row[], stop: JointGrowth['stop'], perTurn: number): readonly Row[] {
  const groups = Map.groupBy(rows, ({ branch, node }) => `${branch.problem.uidSha} ${node}`);
  const found = new Map(
    [...groups.values()].flatMap((members) => {
      const why = stop(members.map(({ branch }) => computeJointReward(branch.message, perTurn)));
      return why === null ? [] : members.map((row): [Row, Stop] => [row, why]);
    }),
  );
  return rows.map((row) => {
    const why = found.get(row);
    return why === undefined ? row : { ...row, branch: { ...row.branch, events: [makeStopEvent(why)] } };
  });
}

const makeStopEvent = ({ reason, json }: Stop): TreeEvent => ({
  event: {
    kind: 'environment',
    source: TERMINATION,
    text: '',
    json,
    done: reason,
    derived: false,
    streamKey: '',
    closing: false,
  },
  stored: undefined,
});
