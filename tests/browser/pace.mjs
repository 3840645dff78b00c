// SPDX-License-Identifier: GPL-2.0-only
// How fast a report of many chains is: node pace.mjs MODULES REPORT TRUTH. Prints, one a line, as NAME VALUE: ms
// until it can be used, median ms of a frame when zooming, moving far out, and scrolling; and 1 where the figures of
// the page are those of TRUTH (see e2e/html_scale.sh).
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [modules, file, truthFile] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/package.json`)('playwright-core');
const truth = JSON.parse(readFileSync(truthFile, 'utf8'));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
page.setDefaultTimeout(120000);
const began = Date.now();
await page.goto(`file://${file}#/chains`);
await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes');
await page.waitForSelector('#drawn-larger');
console.log('usable', Date.now() - began);

// Steps are given to the page as text and done once a frame.
const frames = step => page.evaluate(async ([text]) => {
	const act = new Function('i', 'w', text), times = [];
	for (let i = 0, last = performance.now(); i < 60; i++) {
		act(i, CW.waterfall.current);
		await new Promise(requestAnimationFrame);
		const now = performance.now();
		times.push(now - last);
		last = now;
	}
	return Math.round(times.sort((a, b) => a - b)[30]);
}, [step]);
console.log('zoom', await frames('CW.waterfallMove(w, i < 30 ? 0.9 : 1.12, null, 0)'));
await page.evaluate(() => CW.waterfallMove(CW.waterfall.current, 20, null, 0));
console.log('move', await frames('CW.waterfallMove(w, 1, null, i % 2 ? 0.02 : -0.02)'));
console.log('scroll', await frames('document.querySelector(".vtable").scrollTop = i * 400'));
const total = await page.evaluate(() => {
	const t = CW.rows('total')[0];
	return { n: t.n, avg: t.avg, p50: t.p50, p95: t.p95, p99: t.p99, max: t.max };
});
console.log('exact', Number(JSON.stringify(total) === JSON.stringify(truth.total)));
const said = await page.innerText('#reduced');
console.log('reduced', Number(/holds [\d,]+ of [\d,]+ chains one by one: the slowest .* uniform sample .* exact, over all/.test(said)));
await browser.close();
