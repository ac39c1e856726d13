import type { Graph, GraphNode, Value } from './graph.ts';
import { add } from './ops/elementwise.ts';

/**
 * Differentiates a graph in reverse mode: appends the nodes that compute d(loss)/d(parameter).
 * @param loss a scalar
 * @param parameters values of the graph (usually inputs)
 * @returns one gradient per parameter, with its shape, in the given order
 * @throws if a parameter does not influence the loss, or a node between them has no vjp
 */
export function gradients(g: Graph, loss: Value, parameters: readonly Value[]): readonly Value[] {
  return pullback(g, g.nodes, loss, g.scalar(1), parameters).map((gradient, index) => {
    if (gradient === undefined) {
      throw new Error(`The loss does not depend on ${parameters[index]?.name ?? '?'}.`);
    }
    return gradient;
  });
}

/**
 * Appends the nodes that compute the cotangents of some values from the cotangent of a result,
 * through the given nodes only.
 * @param through nodes in order, without the nodes that this call appends
 * @param wanted values of the graph
 * @returns one cotangent for each wanted value, or undefined if the result does not depend on it
 * @throws if a node between them has no vjp
 */
export function pullback(
  g: Graph,
  through: readonly GraphNode[],
  result: Value,
  cotangent: Value,
  wanted: readonly Value[],
): readonly (Value | undefined)[] {
  const nodes = [...through];
  const reachable = new Set(wanted.map((value) => value.name));
  for (const node of nodes) {
    if (node.inputs.some((value) => reachable.has(value.name))) {
      for (const output of node.outputs) {
        reachable.add(output.name);
      }
    }
  }
  const cotangents = new Map<string, Value>([[result.name, cotangent]]);
  for (const node of nodes.reverse()) {
    const incoming = node.outputs.map((value) => cotangents.get(value.name));
    if (incoming.every((value) => value === undefined) || !node.outputs.some((value) => reachable.has(value.name))) {
      continue;
    }
    if (node.vjp === undefined) {
      if (node.inputs.some((value) => reachable.has(value.name) && value.dtype.startsWith('float'))) {
        throw new Error(`No derivative is known for the node that makes ${node.outputs[0]?.name ?? '?'}.`);
      }
      continue;
    }
    const asked = node.inputs.map((value) => reachable.has(value.name));
    node.vjp(incoming, asked).forEach((own, index) => {
      const input = node.inputs[index];
      if (input === undefined || own === undefined || !reachable.has(input.name)) {
        return;
      }
      const known = cotangents.get(input.name);
      cotangents.set(input.name, known === undefined ? own : add(g, known, own));
    });
  }
  return wanted.map((value) => cotangents.get(value.name));
}
