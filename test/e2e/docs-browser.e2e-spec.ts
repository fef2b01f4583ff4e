import { MockEngine } from '@smg/testing';
import { type Browser, type Page } from 'playwright-core';
import { CHROMIUM, hasChromium, launchChromium, openPage } from '../support/browser';
import { startGateway, type RunningGateway } from '../support/gateway';

const KEY = 'operator-secret-1';

/** Fails with what the page says instead. */
async function routesShown(page: Page): Promise<void> {
  try {
    await page.locator('.opblock').first().waitFor();
  } catch (cause) {
    throw new Error(`no routes: ${await page.locator('body').innerText()}`, { cause });
  }
}

/** Opens an operation of the page, sends it and gives what came back. */
async function tryOut(page: Page, operation: string): Promise<{ status: string; body: string }> {
  await routesShown(page);
  const block = page.locator(`[id$="${operation}"]`);
  await block.locator('.opblock-summary').click();
  await block.getByRole('button', { name: 'Try it out' }).click();
  await block.getByRole('button', { name: 'Execute' }).click();
  const answer = block.locator('.live-responses-table .response').first();
  await answer.waitFor();
  return {
    status: (await answer.locator('.response-col_status').innerText()).trim(),
    body: await answer.locator('.response-col_description').innerText(),
  };
}

const onlyFrom = (url: string, requested: readonly string[]): void => {
  const elsewhere = requested.filter((it) => !it.startsWith(`${url}/`) && !it.startsWith('data:'));
  expect(elsewhere).toEqual([]);
};

if (!hasChromium) {
  process.stderr.write(`/docs: skipped, no chromium at ${CHROMIUM}; set CHROMIUM_PATH\n`);
}
const inBrowser = hasChromium ? describe : describe.skip;

inBrowser('/docs in a browser', () => {
  let browser: Browser;
  let engines: MockEngine[];
  let guarded: RunningGateway;
  let open: RunningGateway;
  /** What has been started, the last first. */
  const ending: (() => Promise<unknown>)[] = [];

  const startEngine = async (kind: 'sglang' | 'vllm'): Promise<MockEngine> => {
    const engine = await new MockEngine({ kind }).start();
    ending.unshift(() => engine.stop());
    return engine;
  };

  beforeAll(async () => {
    engines = [await startEngine('sglang'), await startEngine('vllm')];
    const ops = { id: 'ops', name: 'Ops', role: 'admin', key: KEY } as const;
    guarded = await startGateway(
      { rl: { enabled: true }, auth: { controlPlaneApiKeys: [ops] } },
      { engines },
    );
    ending.unshift(() => guarded.close());
    open = await startGateway({ rl: { enabled: true } }, { engines });
    ending.unshift(() => open.close());
    browser = await launchChromium();
    ending.unshift(() => browser.close());
  }, 60_000);

  afterAll(async () => {
    for (const end of ending) await end();
  }, 30_000);

  it('without keys: shows the routes and lists both engines', async () => {
    const { page, complaints, requested } = await openPage(browser);
    await page.goto(`${open.url}/docs`);
    const { status, body } = await tryOut(page, 'rlWorkersList');
    expect(status).toBe('200');
    for (const { url } of engines) expect(body).toContain(url);
    expect(complaints).toEqual([]);
    onlyFrom(open.url, requested);
    await page.context().close();
  });

  it('with keys: asks for one, opens with it and sends it along', async () => {
    const { page, complaints, requested } = await openPage(browser);
    const navigation = await page.goto(`${guarded.url}/docs`);
    expect(navigation?.status()).toBe(401);
    // The browser itself reports the status of the navigation.
    expect(complaints.splice(0)).toEqual([expect.stringContaining('401')]);
    await page.getByLabel('Control-plane key or token').fill(KEY);
    await page.getByRole('button', { name: 'Open' }).click();
    const { status, body } = await tryOut(page, 'rlWorkersList');
    expect(status).toBe('200');
    for (const { url } of engines) expect(body).toContain(url);
    expect(complaints).toEqual([]);
    onlyFrom(guarded.url, requested);
    expect(requested.join()).not.toContain(KEY);
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    );
    expect(kept).toBe('[{},{},""]');
    await page.context().close();
  });

  it('a wrong key is refused in words, and may be corrected', async () => {
    const { page } = await openPage(browser);
    await page.goto(`${guarded.url}/docs`);
    await page.getByLabel('Control-plane key or token').fill('guess');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByRole('alert').filter({ hasText: '401' }).waitFor();
    expect(await page.locator('.opblock').count()).toBe(0);
    await page.getByLabel('Control-plane key or token').fill(KEY);
    await page.getByRole('button', { name: 'Open' }).click();
    await routesShown(page);
    await page.context().close();
  });

  it("does not send an operator's key to inference routes", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${guarded.url}/docs`);
    await page.getByLabel('Control-plane key or token').fill(KEY);
    await page.getByRole('button', { name: 'Open' }).click();
    const sent = page.waitForRequest(`${guarded.url}/generate`);
    const { status } = await tryOut(page, 'inferenceGenerate');
    expect(status).toMatch(/200|404/);
    expect((await sent).headers()['authorization']).toBeUndefined();
    await page.context().close();
  });
});
