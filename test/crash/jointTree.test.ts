/** MAGRPO's rollout tree, killed and resumed in one mode; and a node that ends early. */
import { killedTrees, treeThatEndsEarly, treeWorkspace } from './jointTree.ts';

treeWorkspace();
killedTrees(['align'], 1);
treeThatEndsEarly();
