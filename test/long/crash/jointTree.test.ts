/** MAGRPO's rollout tree, killed again and again and resumed, in both modes. */
import { killedTrees, treeWorkspace } from '../../crash/jointTree.ts';

treeWorkspace();
killedTrees(['align', 'cross'], 22);
