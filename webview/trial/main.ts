/** Entry point of the trial page. */

import '../common/common.css';
import './style.css';
import { byId } from '../common/dom.ts';
import { editorHost } from '../common/host.ts';
import { TrialPanel } from './panel.ts';

new TrialPanel(byId('app'), editorHost());
