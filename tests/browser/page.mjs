// SPDX-License-Identifier: GPL-2.0-only
// Opens an HTML report in Chromium and tries everything on it: node page.mjs MODULES REPORT TRUTH SHOTS WORDS….
// MODULES is a folder with node_modules; TRUTH a JSON file of what SQL says (see e2e/html.sql); SHOTS a
// folder for screenshots, or empty; WORDS must be in the answer at the top. Prints a line for each fault, exits with 1 when there is one.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [modules, file, truthFile, shots, ...words] = process.argv.slice(2);
const require = createRequire(`${modules}/package.json`);
const { chromium } = require('playwright-core');
const truth = JSON.parse(readFileSync(truthFile, 'utf8'));
let faults = 0, checks = 0;

const check = (what, got, wanted) => {
	checks++;
	if (JSON.stringify(got) === JSON.stringify(wanted))
		return;
	faults++;
	console.log(`FAILED: ${what}: got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);
};

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: 'light' });
const page = await context.newPage();
const said = [], asked = [];
page.on('console', m => said.push(`${m.type()}: ${m.text()}`));
page.on('pageerror', e => said.push(`exception: ${e.message}`));
page.on('dialog', d => { said.push(`dialog: ${d.message()}`); d.dismiss(); });
page.on('request', r => asked.push(r.url()));

const url = hash => `file://${file}${hash}`;
const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', null, { timeout: 60000 });
const shot = async name => shots && page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
const settle = () => page.evaluate(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))));

// Nothing is wider than the window, and no name is cut where names are promised whole.
async function checkLayout(where) {
	check(`${where}: wider than the window`, await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0);
	check(`${where}: texts that overlap or leave their drawing`, await page.evaluate(() => {
		const bad = [], plot = document.querySelector('.lane-plot')?.getBoundingClientRect();
		const labels = [...document.querySelectorAll('.lane-plot text')].map(e => [e.textContent, e.getBoundingClientRect()]);
		labels.forEach(([text, a], i) => {
			if (a.left < plot.left - 1 || a.right > plot.right + 1)
				bad.push(`${text} leaves the plot`);
			for (const [other, b] of labels.slice(i + 1))
				if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
					bad.push(`${text} over ${other}`);
		});
		for (const e of document.querySelectorAll('.lane-name, .seq-text, .seq-names div, ol.stack li, dl.facts dd, #answer p'))
			if (e.scrollWidth > e.clientWidth + 1)
				bad.push(`cut: ${e.textContent.slice(0, 60)}`);
		return bad.slice(0, 5);
	}), []);
}

async function axe(where) {
	await page.evaluate(readFileSync(require.resolve('axe-core'), 'utf8'));
	const bad = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ['violations'] })).violations
		.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v => `${v.id}: ${v.nodes.length}, ${v.nodes[0].html.slice(0, 120)}: ${v.nodes[0].any[0]?.message ?? ''}`));
	check(`${where}: accessibility faults`, bad, []);
}

await page.goto(url(''));
await ready();
check('nothing asked of the network', asked.filter(u => !u.startsWith('file://')).length, 0);
check('only the file itself was read', new Set(asked.map(u => u.split('#')[0])).size, 1);

// Every tab, light and dark.
const tabs = await page.$$eval('#tabs [role=tab]', all => all.map(b => b.id));
check('tabs', tabs.map(t => t.slice(4)), truth.tabs);
for (const theme of ['light', 'dark']) {
	if (theme === 'dark')
		await page.keyboard.press('t');
	check(`theme ${theme}`, await page.evaluate(() => document.documentElement.dataset.theme), theme);
	for (const tab of tabs) {
		await page.click('#' + tab);
		await settle();
		const where = `${tab}, ${theme}`;
		check(`${where}: selected`, await page.getAttribute('#' + tab, 'aria-selected'), 'true');
		check(`${where}: has something to show`, (await page.innerText('#main')).trim().length > 40, true);
		await checkLayout(where);
		await axe(where);
		await shot(`${tab}-${theme}`);
	}
}
await page.keyboard.press('t');

// Numbers are those of SQL.
await page.goto(url('#/overview'));
await settle();
check('figures of the overview', await page.evaluate(() => {
	const t = CW.count('plan') ? CW.rows('total')[0] : CW.rows('function').slice().sort((a, b) => b.sum - a.sum)[0];
	return { n: t.n, avg: t.avg, p50: t.p50, p95: t.p95, p99: t.p99, max: t.max };
}), truth.total);
const cards = await page.$$eval('.card b', all => all.map(e => e.textContent));
check('average and maximum as they are written', [cards[2], cards.at(-1)], await page.evaluate(t => [CW.ns(t.avg), CW.ns(t.max)], truth.total));
check('P95 below 20 samples and P99 below 100 are hidden', [truth.total.n < 20 ? /n < 20/.test(cards[4]) : /s$/.test(cards[4]),
	truth.total.n < 100 ? /n < 100/.test(cards[5]) : /s$/.test(cards[5])], [true, true]);
for (const word of words)
	check(`the answer names ${word}`, (await page.innerText('#answer')).includes(word), true);

// What is drawn are SQL's rows: each where its time is, to the pixel.
const drawn = () => page.evaluate(() => {
	const v = CW.waterfall.current.scale, bad = [], all = [...document.querySelectorAll('.lane-plot rect[data-state]')];
	for (const r of all) {
		if (r.dataset.larger)
			continue;
		const x = Math.max(0, v.x(Number(r.dataset.lo))), end = Math.min(v.width, v.x(Number(r.dataset.hi)));
		if (Math.abs(r.x.baseVal.value - x) > 0.01 || Math.abs(r.width.baseVal.value - (end - x)) > 0.01)
			bad.push(`${r.dataset.state} at ${r.x.baseVal.value} is ${r.width.baseVal.value} wide, not ${end - x}`);
	}
	return all.length ? bad.slice(0, 3) : ['no state is drawn'];
});
const statesOf = part => page.evaluate(([utid, lo, hi]) => CW.states(utid, lo, hi).map(s => [Math.max(s.ts, lo), Math.min(s.ts + s.dur, hi), s.state]), [part.utid, part.lo, part.hi]);

if (truth.call) {
	await page.goto(url(`#/functions/${truth.call.id}`));
	await settle();
	await settle();
	check('states of the slowest call', await statesOf(truth.call), truth.call.states);
	check('they fill the call', (await statesOf(truth.call)).reduce((s, x) => s + x[1] - x[0], 0), truth.call.hi - truth.call.lo);
	check('drawn states of a call lie where their times are', await drawn(), []);
	await page.locator('rect[data-state=blocked][data-in="1"]').first().click();
	check('a click tells where it slept and who woke it', /It slept in[^]*Its waker was in/.test(await page.innerText('#details')), true);
	await checkLayout('a call');
	await axe('a call');
	await shot('call-light');
}

if (truth.chain) {
	await page.goto(url(`#/chains/${truth.chain.id}`));
	await settle();
	check('a fragment opens a chain', await page.innerText('#chain h2'), `Chain #${truth.chain.id}`);
	check('its row is marked', await page.innerText('tr[aria-current=true] td'), `#${truth.chain.id}`);
	check('parts of every chain add up to its total', await page.evaluate(() => CW.rows('chain').filter(c => c.work !== null
		&& CW.chains.parts(c).reduce((s, p) => s + p.ns, 0) !== c.end - c.start).length), 0);

	check('drawn states lie where their times are', await drawn(), []);
	for (const hop of truth.chain.hops) {
		check(`states of hop ${hop.i}`, await statesOf(hop), hop.states);
		check(`states of hop ${hop.i} fill its work`, (await statesOf(hop)).reduce((s, x) => s + x[1] - x[0], 0), hop.hi - hop.lo);
	}
	// Zoomed in to one work, every state of it is there.
	await page.evaluate(() => CW.waterfallAll(CW.waterfall.current));
	const bar = page.locator('rect[data-kind=work]').first();
	await bar.dblclick();
	await settle();
	check('drawn states lie where their times are, zoomed in', await drawn(), []);
	await checkLayout('a chain, zoomed in');
	const span = () => page.evaluate(() => CW.waterfall.current.view.hi - CW.waterfall.current.view.lo);
	const before = await span();
	await page.focus('#waterfall');
	await page.keyboard.press('+');
	await settle();
	check('plus zooms in', (await span()) < before, true);
	await page.keyboard.press('ArrowRight');
	await page.keyboard.press('0');
	await settle();
	const box = await page.locator('.lane-plot svg').boundingBox();
	const whole = await span();
	await page.mouse.move(box.x + box.width / 2, box.y + 60);
	await page.keyboard.down('Control');
	await page.mouse.wheel(0, -120);
	await page.keyboard.up('Control');
	await settle();
	check('the wheel with Ctrl zooms in', (await span()) < whole, true);
	const lo = await page.evaluate(() => CW.waterfall.current.view.lo);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width / 2 - 150, box.y + 60, { steps: 4 });
	await page.mouse.up();
	await settle();
	check('dragging to the left moves on', (await page.evaluate(() => CW.waterfall.current.view.lo)) > lo, true);
	await page.evaluate(() => CW.waterfallAll(CW.waterfall.current));
	await page.locator('rect[data-state=blocked][data-in="1"]').first().click();
	check('a click on a blocked state tells where it slept', /It slept in/.test(await page.innerText('#details')), true);
	await page.keyboard.press(']');
	await settle();
	check('] opens the next chain', (await page.innerText('#chain h2')) !== `Chain #${truth.chain.id}`, true);
	await page.click('[data-view=sequence]');
	await settle();
	await checkLayout('sequence');
	await axe('sequence');
	await shot('sequence-light');
	await page.click('[data-view=waterfall]');

	// Sorting and filters.
	const count = async () => (await page.innerText('#chain-count')).split(' ')[0].replaceAll(',', '');
	await page.fill('#filter-text', truth.chain.key);
	check('a key finds its chains', Number(await count()), truth.chain.with_key);
	await page.fill('#filter-text', '');
	await page.fill('#filter-least', String(truth.total.p50 / 1e6));
	check('a least duration', Number(await count()), truth.chain.above_p50);
	await page.fill('#filter-least', '');
	await page.click('.vtable th button >> text=total');
	check('sorted up, the fastest is first', await page.innerText('.vtable tr.row td'), `#${truth.chain.fastest}`);
}

for (const tab of tabs.filter(t => t === 'tab-blocking' || t === 'tab-functions')) {
	await page.click('#' + tab);
	await settle();
	if (await page.$('#flame')) {
		const height = await page.evaluate(() => document.querySelectorAll('#flame > div').length);
		await page.locator('#flame > div').nth(1).click();
		await page.fill('#flame-search', 'zzzz-no-such');
		await page.fill('#flame-search', '');
		check(`${tab}: the flame graph has frames`, height > 1, true);
	}
	if (tab === 'tab-blocking')
		for (const v of await page.$$eval('#scope option', all => all.map(o => o.value)))
			await page.selectOption('#scope', v);
}

// Names of targets are text, whatever they are.
check('scripts in the page', await page.evaluate(() => document.scripts.length), 2);
check('elements that names brought', await page.evaluate(() => document.querySelectorAll('img, iframe, object, svg script, b > i > u').length), 0);
check('nothing that a name says was run', await page.evaluate(() => globalThis.injected ?? null), null);
check('no control or direction character is shown raw', await page.evaluate(() => /[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)), false);

await page.emulateMedia({ media: 'print' });
await page.click('#tab-overview').catch(() => null);
await settle();
check('printable: the bar of tools is gone', await page.evaluate(() => getComputedStyle(document.querySelector('.tools')).display), 'none');
check('what the console said', said, []);
await browser.close();
console.log(`${checks} checks, ${faults} faults`);
process.exit(faults ? 1 : 0);
