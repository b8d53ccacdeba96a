// The driver behind Browser.pm:  node browser.mjs PACKAGES CHROMIUM
// Each line of input is a call, as a JSON array. Each line of output is its result, {"value": …} or {"error": …}.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const [packages, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(`${packages}/package.json`)('playwright-core');

const answer = message => process.stdout.write(`${JSON.stringify(message)}\n`);
const complaints = [];
const requests = [];

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
// How long an element may take to appear, or to become enabled.
page.setDefaultTimeout(30_000);
page.on('console', message => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
page.on('pageerror', error => complaints.push(String(error.stack)));
page.on('request', request => requests.push(request.url()));
page.on('requestfailed', request => complaints.push(`${request.url()}: ${request.failure()?.errorText}`));

const calls = {
    open: async address => (await page.goto(address)).status(),
    eval: expression => page.evaluate(expression),
    wait_for: async (expression, milliseconds) => {
        // Not page.waitForFunction: the page's Content-Security-Policy forbids eval.
        for (const end = Date.now() + milliseconds; !await page.evaluate(expression); await pause(20)) {
            if (Date.now() > end) throw new Error(`waited in vain for ${expression}`);
        }
    },
    scheme: colorScheme => page.emulateMedia({ colorScheme }),
    size: (width, height) => page.setViewportSize({ width, height }),
    press: key => page.keyboard.press(key),
    click: selector => page.locator(selector).click(),
    type: text => page.keyboard.type(text),
    fill: (selector, text) => page.locator(selector).fill(text),
    choose: async (selector, value) => void await page.locator(selector).selectOption(value),
    // The rules of axe that the page breaks, each with the elements that do.
    axe: async () => {
        // The page's policy does not apply to what the driver evaluates.
        await page.evaluate(readFileSync(`${packages}/node_modules/axe-core/axe.min.js`, 'utf8'));
        const { violations, passes } = await page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
        return {
            passed: passes.map(({ id }) => id),
            violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => `${node.target} ${node.failureSummary.replace(/\s+/g, ' ')}`).join('; ')}`),
        };
    },
    screenshot: async path => void await page.screenshot({ path, fullPage: true }),
    complaints: () => complaints,
    requests: () => requests,
};

answer({ value: browser.version() });
for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...argumentsOfCall] = JSON.parse(line);
    try {
        answer({ value: await calls[name](...argumentsOfCall) ?? null });
    } catch (error) {
        answer({ error: String(error.message) });
    }
}
await browser.close();
