/** Entry point of the model page. */

import '../common/common.css';
import '../common/stickyHead.css';
import './style.css';
import { byId } from '../common/dom.ts';
import { editorHost } from '../common/host.ts';
import { ModelPanel } from './panel.ts';

new ModelPanel(byId('app'), editorHost());
