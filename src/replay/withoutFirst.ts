/** Episodes without what the first role said: an empty message stands in its place, and the others are sampled. */
import type { PolicyControl } from '../policy/policy.ts';
import type { Instance } from '../shared/records/records.ts';
import { occurrenceAt } from '../team/protocol.ts';
import { grow } from './episodes.ts';
import { contextOf, samplingOf, type TreeSettings } from './grow.ts';
import type { TreeNode } from './tree.ts';

/**
 * Grows `count` episodes of each instance below an empty first message, each continued by itself.
 * @param reading whether the context that only holds the empty message keeps its heading (`empty_plan`) or is left out
 * @returns the empty message of each instance, in order; the episodes are below it
 * @throws CancelledError; C3Error('budget') before anything is sampled when the budget does not reach
 */
export async function growWithoutFirst(
  settings: TreeSettings,
  instances: readonly Instance[],
  count: number,
  reading: 'bare' | 'empty_plan',
  control: PolicyControl,
): Promise<TreeNode[]> {
  const firsts: TreeNode[] = [];
  for (const instance of instances) {
    firsts.push(await emptyFirst(settings, instance, control));
  }
  await grow(
    settings,
    firsts.map((node) => ({ instance: node.instance, node, headed: reading === 'empty_plan' })),
    [count],
    control,
  );
  return firsts;
}

/** The first message of an episode, empty, as if somebody had typed nothing. */
async function emptyFirst(settings: TreeSettings, instance: Instance, control: PolicyControl): Promise<TreeNode> {
  const position = 0;
  const { role: agent } = occurrenceAt(settings.protocol, position);
  const { context, key } = await contextOf(settings, { instance, node: null }, position);
  const sampling = samplingOf(settings, position);
  const answer = await settings.policy.typed({ agent, context, text: '', temperature: sampling.temperature }, control);
  return {
    instance,
    position,
    parent: null,
    sibling: 0,
    alternative: 0,
    replay: null,
    context,
    contextKey: key,
    streamKey: '',
    sampling,
    answer,
    score: undefined,
    children: [],
    stored: undefined,
  };
}
