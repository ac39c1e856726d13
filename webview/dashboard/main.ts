/** Entry point of the dashboard page. */

import '../common/common.css';
import '../common/stickyHead.css';
import '../common/term.css';
import './style.css';
import { byId } from '../common/dom.ts';
import { editorHost } from '../common/host.ts';
import { DashboardPanel } from './panel.ts';

new DashboardPanel(byId('app'), editorHost());
