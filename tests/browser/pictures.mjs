// SPDX-License-Identifier: GPL-2.0-only
// Takes the pictures of a report for the documentation: node pictures.mjs MODULES REPORT FOLDER
import { createRequire } from 'node:module';

const [modules, file, folder] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/package.json`)('playwright-core');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1080, height: 900 }, colorScheme: 'light' });

// From the top of the first element to the bottom of the last one.
async function picture(name, first, last) {
	const [a, b] = [await page.locator(first).first().boundingBox(), await page.locator(last).boundingBox()];
	await page.screenshot({
		path: `${folder}/${name}.png`,
		fullPage: true,
		clip: { x: 0, y: a.y - 8, width: 1080, height: b.y + b.height - a.y + 16 },
	});
}

await page.goto(`file://${file}`);
await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes');
await picture('report-overview', '#answer', '#main > section:nth-of-type(2)');
await page.goto(`file://${file}#/chains`);
await page.waitForSelector('#drawn-larger');
await page.evaluate(() => scrollTo(0, 0));
await picture('report-chain', '#chain h2', '#chain-view > .legend >> nth=-1');
await browser.close();
