import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';

/** Chromium of this machine; nothing is downloaded. */
export const CHROMIUM = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
export const hasChromium = existsSync(CHROMIUM);

/** A page and everything it did that a test may object to. */
export interface WatchedPage {
  readonly page: Page;
  /** Console errors and warnings, uncaught exceptions, violations of the content security policy. */
  readonly complaints: string[];
  /** Every address it asked for. */
  readonly requested: string[];
}

export async function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    timeout: 30_000,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking'],
  });
}

/** A fresh profile: nothing is cached, nobody is signed in. */
export async function openPage(browser: Browser): Promise<WatchedPage> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  const requested: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => requested.push(request.url()));
  await page.addInitScript(`
    document.addEventListener('securitypolicyviolation', (event) => {
      console.error('violation of ' + event.violatedDirective + ' by ' + event.blockedURI);
    });
  `);
  return { page, complaints, requested };
}
