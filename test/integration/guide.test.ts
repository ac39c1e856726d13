/** The guide in a real VS Code: its command opens a page in the Markdown preview. */
import { workbenchScenarios } from './harness/workbench.ts';

const scenario = workbenchScenarios();

scenario('a page of the guide opens in the Markdown preview', async (workbench) => {
  const { page } = workbench;
  await workbench.runCommandAndPick('C3: Open guide', 'Replay and credit');
  const preview = page
    .locator('iframe.webview.ready[src*="extensionId=vscode.markdown-language-features"]:visible')
    .contentFrame()
    .locator('iframe#active-frame')
    .contentFrame();
  await preview.getByRole('heading', { name: 'Why a replay is exact' }).waitFor();
  await workbench.screenshot('guide');
});
