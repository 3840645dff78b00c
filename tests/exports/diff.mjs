// SPDX-License-Identifier: GPL-2.0-only
// The page of diff in a browser: node diff.mjs MODULES FILE, with $CHROMIUM. Prints its answer and the first
// row of changes; fails on an error, a request to the network, or a serious fault that axe finds, in light and dark.
import { createRequire } from 'node:module';
import path from 'node:path';

const [modules, file] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'package.json'));
const browser = await require('playwright-core').chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const wrong = [];
for (const colorScheme of ['light', 'dark']) {
	const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, colorScheme });
	page.on('pageerror', e => wrong.push(String(e)));
	page.on('console', m => m.type() === 'error' && wrong.push(m.text()));
	page.on('request', r => r.url().startsWith('file:') || wrong.push('request: ' + r.url()));
	page.on('dialog', d => wrong.push('a name was run'));
	await page.goto('file://' + path.resolve(file));
	await page.evaluate(require('axe-core').source);
	const found = await page.evaluate(() => globalThis.axe.run());
	for (const v of found.violations) if (['serious', 'critical'].includes(v.impact)) wrong.push(`${colorScheme}: ${v.id}`);
	if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wrong.push('wider than the window');
	if (process.env.SHOT) await page.screenshot({ path: `${process.env.SHOT}-${colorScheme}.png` });
	if (colorScheme === 'dark') console.log(await page.textContent('#answer'), '\n' + await page.innerText('#changes tbody tr'));
}
await browser.close();
for (const line of wrong) console.error(line);
process.exit(wrong.length ? 1 : 0);
