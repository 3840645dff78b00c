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
page.setDefaultTimeout(120000);
const said = [], asked = [];
page.on('console', m => said.push(`${m.type()}: ${m.text()}`));
page.on('pageerror', e => said.push(`exception: ${e.message}`));
page.on('dialog', d => { said.push(`dialog: ${d.message()}`); d.dismiss(); });
page.on('request', r => asked.push(r.url()));

const url = hash => `file://${file}${hash}`;
const ready = () => page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', null, { timeout: 60000 });
const shot = async name => shots && page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
const settle = () => page.evaluate(() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r))));

// One word for each thing: none of these is used beside it. Names of targets may be anything.
async function checkWords(where) {
	check(`${where}: words for which there is another`, await page.evaluate(() => {
		const main = document.getElementById('main').cloneNode(true);
		for (const e of main.querySelectorAll('code, .stack, .flame, pre'))
			e.remove();
		return main.textContent.match(/at work|asleep|slept|waiting|waited|waits|in the queue|handed over|handoff|ended by|\b(undefined|null|NaN)\b/gi);
	}), null);
}

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
		for (const e of document.querySelectorAll('.lane-name, .seq-text, .seq-names div, ol.stack li, dl.facts dd, #answer p, .legend span, .card, .hist-ticks, h2, h3'))
			if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline')
				bad.push(`cut: ${e.textContent.slice(0, 60)}`);
		/* What cannot be scrolled to must be within the window. */
		for (const e of document.querySelectorAll('main *')) {
			const box = e.getBoundingClientRect();
			if (box.right > innerWidth + 1 && !e.closest('.scroll, .vtable, svg'))
				bad.push(`outside: ${e.tagName} ${e.textContent.slice(0, 60)}`);
		}
		const ticks = [...document.querySelectorAll('.hist-ticks span')].map(e => [e, e.getBoundingClientRect()]);
		ticks.forEach(([e, a], i) => {
			const [other, b] = ticks[i + 1] ?? [null, null];
			if (other && other.parentElement === e.parentElement && b.left < a.right)
				bad.push(`${other.textContent} over ${e.textContent}`);
		});
		return bad.slice(0, 5);
	}), []);
}

// A head that sorts has the arrow of its direction, and it alone. The list of chains is then as it was.
async function checkSorting(where) {
	check(`${where}: what can be sorted says so, and nothing else`, await page.$$eval('#main th', all =>
		all.filter(th => th.hasAttribute('aria-sort') !== Boolean(th.querySelector('button'))).map(th => th.textContent)), []);
	check(`${where}: arrows of sorting`, await page.$$eval('#main table:has(th button)', tables => tables.flatMap(table => {
		const heads = [...table.tHead.rows[0].cells], bad = [];
		const arrow = th => getComputedStyle(th.querySelector('button') ?? th, '::after').content.replace(/[" ]/g, '');
		for (const th of heads.filter(x => x.querySelector('button')))
			for (let i = 0; i < 2; i++) {
				th.querySelector('button').click();
				const wanted = th.ariaSort === 'ascending' ? '↑' : '↓', all = heads.map(x => x === th ? 'none' : arrow(x));
				if (arrow(th) !== wanted || all.some(x => x !== 'none'))
					bad.push(`${th.textContent}: ${arrow(th)}, others ${all.join(' ')}`);
			}
		return bad;
	})), []);
	await page.evaluate(() => document.querySelector('.vtable') && Object.assign(CW.chains, { sort: 'total', down: true }).refresh());
}

async function axe(where) {
	if (!await page.evaluate(() => Boolean(globalThis.axe)))
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
		await axe(where);
		if (theme === 'light') {
			await checkLayout(where);
			await checkWords(where);
			await checkSorting(where);
		}
		await shot(`${tab}-${theme}`);
	}
}
await page.keyboard.press('t');

// Narrow windows, opened by a link to each tab.
for (const width of [1024, 800, 400]) {
	await page.setViewportSize({ width, height: 800 });
	for (const tab of tabs) {
		await page.evaluate(t => { location.hash = `#/${t.slice(4)}`; }, tab);
		await settle();
		check(`${tab}, ${width} wide: the link opened it`, await page.getAttribute('#' + tab, 'aria-selected'), 'true');
		await checkLayout(`${tab}, ${width} wide`);
		await shot(`${tab}-${width}`);
	}
}
await page.setViewportSize({ width: 1280, height: 900 });

// Numbers are those of SQL.
await page.goto(url('#/overview'));
await settle();
check('figures of the overview', await page.evaluate(() => {
	const t = CW.count('plan') ? CW.rows('total')[0] : CW.rows('function').slice().sort((a, b) => b.sum - a.sum)[0];
	return { n: t.n, avg: t.avg, p50: t.p50, p95: t.p95, p99: t.p99, max: t.max };
}), truth.total);
const cards = await page.$$eval('.card b', all => all.map(e => e.textContent));
check('average and maximum as they are written', [cards[2], cards.at(-1)], await page.evaluate(t => [CW.ns(t.avg), CW.ns(t.max)], truth.total));
check('P95 below 20 samples and P99 below 100 are hidden', [truth.total.n < 20 ? /fewer than 20/.test(cards[4]) : /s$/.test(cards[4]),
	truth.total.n < 100 ? /fewer than 100/.test(cards[5]) : /s$/.test(cards[5])], [true, true]);
check('chains or calls, and how many a second', [cards[0], cards[1]], await page.evaluate(([n, s]) => [CW.num(n), `${(n / s).toFixed(1)} /s`],
	[truth.chain ? truth.chains : truth.total.n, truth.seconds]));
check('figures of every view', await page.evaluate(() => {
	const by = (...keys) => (a, b) => keys.map(k => a[k] - b[k]).find(x => x) ?? 0, rows = (name, key) => CW.rows(name).slice().sort(key);
	const sum = (all, key) => all.reduce((s, r) => s + r[key], 0), awake = r => !['run queue', 'preempted'].includes(r.class);
	const parts = plan => ['queue', 'work'].map(p => CW.rows('latency').find(l => l.plan_hop === plan && l.part === p));
	const top = (name, key) => [...CW.group(rows(name, by(key)), r => r[key])].flatMap(([id, all]) =>
		all.sort((a, b) => b.ns - a.ns).slice(0, 3).map(r => [id, r.class, r.reason, r.count, r.ns]));
	const scope = o => o.plan_hop !== null ? `hop ${o.plan_hop}` : o.probe !== null ? `call ${o.probe}` : 'all';
	const grouped = (name, key) => [...CW.group(rows(name, by(key)), r => r[key])];
	return {
		percentiles: CW.rows('plan').flatMap(p => parts(p.plan_hop).filter(l => l?.n).map(l => [p.plan_hop, l.part, l.n, l.p50, l.p95, l.p99])),
		over_time: grouped('queue', 'plan_hop').map(([p, all]) => [p, Math.max(...all.map(q => q.pending)), Math.max(...all.map(q => q.active)), sum(all, 'done')]),
		hop_reasons: top('hop_reason', 'plan_hop'),
		call_reasons: top('function_reason', 'probe_id'),
		blocked_in: Object.fromEntries([...CW.group(CW.rows('offcpu').filter(o => o.stack !== null), scope)].map(([s, all]) =>
			[s, sum(all, 'ns')]).sort((a, b) => a[0] < b[0] ? -1 : 1)),
		returns: grouped('return', 'probe').map(([p, all]) => [p, sum(all, 'n'), Math.max(...all.map(r => r.n))]),
		functions: rows('function', by('probe')).map(f => [f.probe, f.calls, f.sum, f.max]),
		threads: rows('thread', by('utid')).filter(t => t.traced && t.running_ns !== null).map(t => [t.utid, t.running_ns, t.blocked_ns, t.runq_ns, t.preempted_ns]),
		reasons: rows('wait_reason', (a, b) => b.ns - a.ns).slice(0, 5).map(r => [r.class, r.reason, r.count, r.ns]),
		wakers: [...CW.group(CW.rows('other').filter(awake), r => r.utid)].map(([utid, all]) => [utid, sum(all, 'ns')]).sort((a, b) => b[1] - a[1]).slice(0, 5),
		ran: [...CW.group(CW.rows('other').filter(r => !awake(r)), r => r.utid)].map(([utid, all]) => [utid, sum(all, 'ns')]).sort((a, b) => b[1] - a[1]).slice(0, 5),
		blocked: sum(CW.rows('offcpu').filter(o => o.plan_hop === null && o.probe === null && o.stack !== null), 'ns'),
		latency: CW.rows('plan').map(p => p.plan_hop).filter(p => parts(p)[0]?.n).map(p => [p, parts(p)[0].n, parts(p)[0].avg, parts(p)[0].max, parts(p)[1]?.avg ?? null, parts(p)[1]?.max ?? null]),
		pools: rows('diagnosis', by('plan_hop')).map(d => [d.plan_hop, d.submitted, d.completed, d.peak_pending, d.peak_active, d.worker_count]),
		workers: rows('worker', by('plan_hop', 'utid')).map(w => [w.plan_hop, w.utid, w.started, w.work]),
		anomalies: CW.count('anomaly'),
		lost: sum(CW.rows('loss'), 'count'),
		evidence: sum(CW.rows('evidence').filter(e => e.evidence === 'exact'), 'n'),
	};
}), truth.figures);
check('bars of histograms count the times that they stand for', await page.evaluate(samples => samples.flatMap(([plan, part, times]) => {
	const bars = CW.rows('histogram').filter(r => r.plan_hop === plan && r.part === part).sort((a, b) => a.lo - b.lo);
	return bars.filter((b, i) => times.filter(t => t >= b.lo && t < (bars[i + 1]?.lo ?? 1.2 * b.lo + 1)).length !== b.n)
		.map(b => `${b.n} of hop ${plan}, ${part} from ${b.lo}`).concat(bars.reduce((s, b) => s + b.n, 0) === times.length ? [] : [`hop ${plan}, ${part}`]);
}), truth.samples), []);
check('the parts of an average chain add up to it', await page.evaluate(() => {
	const t = CW.rows('total')[0];
	return t?.n ? CW.rows('composition').reduce((s, c) => s + c.queue + c.work, 0) - t.sum : 0;
}), 0);
const overview = await page.innerText('#main');
if (truth.chain)
	check('chains without an end are said', [/with no end recorded/.test(overview), /Of \d+ chains? no end is recorded/.test(overview)],
		Array(2).fill(truth.total.n < truth.chains));
check('the overview says where, when, with which command, who submits, what has no names, and what is lost', [...await page.evaluate(said => said.map(CW.visible), truth.said),
	truth.figures.lost ? 'Records are missing' : 'Nothing was lost'].filter(text => !overview.includes(text)), []);
check('what was tried for names is folded', ...await page.evaluate(() => [
	[...document.querySelectorAll('#main details')].filter(d => d.firstChild.textContent === 'what was tried').map(d => d.open),
	CW.rows('module').filter(m => m.unnamed > 0 && m.tried).map(() => false)]));
check('its own code is the cost only of what is on a CPU nearly always', await page.evaluate(() => [[0.52, 0.47], [0.95, 0.05]].map(([oncpu, rest]) =>
	h('p', null, CW.overview.mostly([
		{ class: 'on CPU', share: oncpu, reason: 'on CPU' }, { class: 'preempted', share: rest, reason: 'b ran instead', other_utid: null, others: 0 },
	], 'probe', -1)).textContent.replace(/: b ran instead.*/, ': b'))),
	['52 % of that it is on CPU, 47 % preempted: b', '95 % of that it is on CPU: its own code is the cost.']);
check('the slowest are linked, the slowest first', await page.$$eval('#main td a', all => all[0]?.getAttribute('href')),
	truth.chain ? `#/chains/${truth.chain.id}` : `#/functions/${truth.call.id}`);

if (truth.chain) {
	check('chain and hop are explained where they are first read', /Chain: .*Hop: /.test(await page.innerText('#define')), true);
	check('hops are all there, and by how many threads', await page.$$eval('#main h3:has-text("average chain") ~ div .soft', all =>
		all.filter(e => /^ queued .* work .* by \d+ threads?; submitted by .+$/.test(e.textContent)).length), truth.chain.hops.length);
}
const legend = await page.$$eval('.legend span', all => all.map(e => e.textContent));
check('the legend explains each of its words', [legend.length > 0 || !truth.chain, legend.filter(t => t.split(' ').length < 3).length], [true, 0]);
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
	check('a click tells where it was blocked and who woke it', /It was blocked in[^]*The waker was in/.test(await page.innerText('#details')), true);
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
	// What is queued is in a lane of its own, between those of who submits and who takes, and nowhere else.
	check('each queue is drawn in its own lane, to the pixel', await page.evaluate(hops => {
		const w = CW.waterfall.current, v = w.scale, bars = [...document.querySelectorAll('.lane-plot rect[data-kind=queue]')];
		const bad = bars.length === hops.length ? [] : [`${bars.length} bars of ${hops.length} queues`];
		for (const hop of hops) {
			const lane = w.lanes.findIndex(l => l.hop?.i === hop.i), bar = bars.find(b => b.thing.hop.i === hop.i);
			const x = v.x(hop.submit), wide = Math.max(2, v.x(hop.lo) - x), y = bar.y.baseVal.value;
			if (Math.abs(bar.x.baseVal.value - x) > 0.01 || Math.abs(bar.width.baseVal.value - wide) > 0.01)
				bad.push(`hop ${hop.i} is drawn at ${bar.x.baseVal.value}, not ${x}`);
			if (y < w.tops[lane] || y + bar.height.baseVal.value > w.tops[lane] + w.heights[lane])
				bad.push(`hop ${hop.i} is outside its lane`);
			if (!/^queue of hop/.test(document.querySelectorAll('.lane-name')[lane].textContent))
				bad.push(`lane ${lane} has no name`);
			if (w.lanes[lane - 1].utid !== bar.thing.hop.src || !w.lanes.slice(lane).some(l => l.utid === bar.thing.hop.dst))
				bad.push(`hop ${hop.i} is not between its threads`);
		}
		return bad;
	}, truth.chain.hops), []);
	check('each thread says what it does in the chain', await page.$$eval('.lane-name', all =>
		all.filter(e => !/queue of hop \d|(submits|takes) hop \d|wakes a thread/.test(e.textContent)).length), 0);
	check('what is drawn larger is said, and is two pixels wide', await page.evaluate(() => {
		const larger = [...document.querySelectorAll('.lane-plot rect[data-larger]')],
			said = document.getElementById('drawn-larger').textContent;
		return [larger.every(r => r.width.baseVal.value === 2), larger.length === 0 || /^[\d,]+ bars shorter .* drawn larger/.test(said)];
	}), [true, true]);
	for (const hop of truth.chain.hops) {
		check(`states of hop ${hop.i}`, await statesOf(hop), hop.states);
		check(`states of hop ${hop.i} fill its work`, (await statesOf(hop)).reduce((s, x) => s + x[1] - x[0], 0), hop.hi - hop.lo);
	}
	check('who woke each, and how many ran instead', await page.evaluate(hops => hops.map(hop => CW.states(hop.utid, hop.lo, hop.hi)
		.filter(s => s.state === 'blocked' && s.ts >= hop.lo).map(s => [CW.thread(CW.wakerOf(s)?.utid)?.tid ?? null, CW.ranInstead(s.off).length])),
		truth.chain.hops), truth.chain.hops.map(h => h.wakers));
	await page.locator('rect[data-kind=queue]').first().hover({ force: true });
	check('pointing at a bar tells what it is', /queue/.test(await page.innerText('#tip')), true);
	check('nothing hides a bar from the pointer', await page.evaluate(() => [...document.querySelectorAll('rect[data-kind=queue]')].map(bar => {
		bar.scrollIntoView({ block: 'center' });
		const box = bar.getBoundingClientRect();
		return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === bar;
	}).includes(false)), false);
	await page.locator('rect[data-kind=queue]').last().click({ force: true });
	check('a click on a queue tells its key, and where it was submitted and taken', /key\s+0x[^]*Submitted at[^]*:\d+[^]*Taken at/.test(await page.innerText('#details')), true);
	check('a key says in which arguments it is', await page.$$eval('#hop-table tbody tr', all => all.filter((tr, i) =>
		!(CW.info('plan').includes(`source: ${CW.rows('plan')[i].source}`) ? /key: argument \w+ of .+ = argument \w+ of / : /key: argument \w+ of /).test(tr.textContent)).length), 0);
	check('the raw keys are in the table', (await page.innerText('#hop-table')).includes(truth.chain.key), true);
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
	const zoomed = [await span(), await page.evaluate(() => CW.waterfall.current.view.lo)];
	await page.keyboard.press('ArrowRight');
	await settle();
	const moved = await page.evaluate(() => CW.waterfall.current.view.lo);
	await page.keyboard.press('ArrowLeft');
	await settle();
	const back = await page.evaluate(() => CW.waterfall.current.view.lo);
	await page.keyboard.press('-');
	await settle();
	check('arrows move to the right and back, minus zooms out', [moved > zoomed[1], back < moved, (await span()) > zoomed[0]], [true, true, true]);
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
	const from = () => page.evaluate(() => CW.waterfall.current.view.lo);
	for (const [dx, key] of [[90, null], [0, 'Shift']]) {
		const at = await from();
		if (key)
			await page.keyboard.down(key);
		await page.mouse.wheel(dx, dx ? 0 : 90);
		if (key)
			await page.keyboard.up(key);
		await settle();
		check(`two fingers, or the wheel with Shift, move on (${key})`, (await from()) > at, true);
	}
	const lo = await from();
	await page.mouse.down();
	await page.mouse.move(box.x + box.width / 2 - 150, box.y + 60, { steps: 4 });
	await page.mouse.up();
	await settle();
	check('dragging to the left moves on', (await page.evaluate(() => CW.waterfall.current.view.lo)) > lo, true);
	await page.evaluate(() => CW.waterfallAll(CW.waterfall.current));
	await page.locator('rect[data-state=blocked][data-in="1"]').first().click();
	check('a click on a blocked state tells where it was blocked', /It was blocked in/.test(await page.innerText('#details')), true);
	await page.keyboard.press(']');
	await settle();
	check('] opens the next chain', (await page.innerText('#chain h2')) !== `Chain #${truth.chain.id}`, true);
	await page.keyboard.press('[');
	await settle();
	check('[ opens the one before', await page.innerText('#chain h2'), `Chain #${truth.chain.id}`);
	await page.click('[data-view=sequence]');
	await settle();
	await checkLayout('sequence');
	await axe('sequence');
	check('the sequence has an arrow a hop', await page.$$eval('#sequence .seq-head', all => all.length), await page.evaluate(() => CW.chains.hops(CW.chains.selected).length));
	await shot('sequence-light');
	await page.click('[data-view=waterfall]');

	// By keys alone: to a bar, its details, and the search.
	await page.focus('#waterfall');
	await page.keyboard.press('Tab');
	check('Tab goes to a bar, which says what it is', /^hop \d+: /.test(await page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? '')), true);
	const bar2 = await page.evaluate(() => document.activeElement.getAttribute('aria-label'));
	await page.keyboard.press('Enter');
	check('Enter tells all about it', (await page.innerText('#details h4')) === bar2, true);
	await page.keyboard.press('/');
	check('/ goes to the search', await page.evaluate(() => document.activeElement.id), 'filter-text');
	await page.goto(url('#/chains/999999'));
	await settle();
	check('a chain that is not here is said', /not in this file/.test(await page.innerText('#chain')), true);
	await page.goto(url(`#/chains/${truth.chain.id}`));
	await settle();

	// Sorting and filters.
	const count = async () => (await page.innerText('#chain-count')).split(' ')[0].replaceAll(',', '');
	await page.fill('#filter-text', truth.chain.key);
	check('a key finds its chains', Number(await count()), truth.chain.with_key);
	await page.fill('#filter-text', '');
	await page.fill('#filter-least', String(truth.total.p50 / 1e6));
	check('a least duration', Number(await count()), truth.chain.above_p50);
	await page.fill('#filter-least', '');
	for (const [id, [value, wanted]] of Object.entries(truth.chain.filters).filter(f => f[1])) {
		await page.selectOption(`#filter-${id}`, await page.evaluate(v => typeof v === 'string' ? CW.visible(v) : String(v), value));
		check(`chains of this ${id}`, Number(await count()), wanted);
		await page.selectOption(`#filter-${id}`, '');
	}
	await page.click('.vtable th button >> text=total');
	check('sorted up, the fastest is first', await page.innerText('.vtable tr.row td'), `#${truth.chain.fastest}`);

	// Hops: what is withheld of few samples, and how often submitting itself was blocked.
	await page.click('#tab-hops');
	await settle();
	check('percentiles of few samples are hidden, of enough shown', await page.$$eval('table.latency tbody tr', all => all.map(tr => {
		const cells = [...tr.cells].map(c => c.textContent), n = Number(cells[1].replaceAll(',', ''));
		return /fewer than 20/.test(cells[4]) === n < 20 && /fewer than 100/.test(cells[5]) === n < 100;
	}).includes(false)), false);
	const judged = await page.$$eval('section[id^=hop-]', all => all.map(e => [e.id, e.innerText]));
	check('rates are over a twentieth of the recording', judged.filter(([, text]) => !/completed a second, in steps of /.test(text)).length, 0);
	for (const [id, text] of judged) {
		const hop = Number(id.slice(4)), ended = await page.evaluate(p => CW.rows('composition').find(c => c.plan_hop === p)?.ended, hop);
		check(`${id}: queued against work is judged from 20 samples on`, /is not judged/.test(text), ended < 20);
		const blocked = /itself was blocked ([\d,]+) times/.exec(text);
		if (blocked)
			check(`${id}: how often submitting was blocked`, Number(blocked[1].replaceAll(',', '')), truth.submit_blocked[hop]);
	}
}

// Threads: what each is for, and what it does at a moment.
await page.click('#tab-threads');
await settle();
const roles = await page.$$eval('#main tbody tr', all => all.map(tr => [tr.cells[0].firstChild.textContent.split(' ').at(-1), tr.cells[0].children[0].textContent]));
check('roles of the threads', Object.fromEntries(roles.filter(r => r[1])), truth.roles);
await page.locator('canvas.strip').first().hover();
check('a strip tells the state it is pointed at', /state/.test(await page.innerText('#tip')), true);
await page.keyboard.press('?');
check('? explains words and keys', /blocked[^]*run queue[^]*preempted[^]*zoom the time axis/.test(await page.innerText('#keys')), true);
await page.keyboard.press('Escape');
check('Escape closes it', await page.evaluate(() => document.getElementById('keys').open), false);
await page.keyboard.press('1');
await settle();
check('1 opens the first tab', await page.getAttribute('#' + tabs[0], 'aria-selected'), 'true');
await page.focus('#' + tabs[0]);
await page.keyboard.press('ArrowRight');
await settle();
check('the arrow to the right opens the next tab', [await page.getAttribute('#' + tabs[1], 'aria-selected'), await page.evaluate(() => document.activeElement.id)], ['true', tabs[1]]);
await page.keyboard.press('ArrowLeft');
await page.keyboard.press('ArrowLeft');
await settle();
check('to the left of the first is the last', await page.getAttribute('#' + tabs.at(-1), 'aria-selected'), 'true');
await page.click('#theme');
check('the button is for dark and light', await page.evaluate(() => [document.documentElement.dataset.theme, document.getElementById('theme').textContent]), ['dark', 'Light']);
await page.click('#theme');
await page.click('#help');
check('the button Help opens words and keys', await page.evaluate(() => document.getElementById('keys').open), true);
await page.click('#keys button');

for (const tab of tabs.filter(t => t === 'tab-blocking' || t === 'tab-functions')) {
	await page.click('#' + tab);
	await settle();
	if (await page.$('#flame')) {
		const height = await page.evaluate(() => document.querySelectorAll('#flame > div').length);
		const widest = () => page.evaluate(() => document.querySelector('#flame > div:last-child').clientWidth);
		const narrow = await widest();
		await page.locator('#flame > div').last().click({ force: true });
		check(`${tab}: a click zooms`, (await widest()) >= narrow, true);
		await page.click('#flame-search ~ button');
		await page.locator('#flame > div[tabindex="0"]').last().focus();
		await page.keyboard.press('Enter');
		await settle();
		check(`${tab}: Enter zooms, and the frame keeps the focus`, await page.evaluate(() => document.activeElement.closest('#flame') !== null), true);
		await page.click('#flame-search ~ button');
		await page.fill('#flame-search', 'zzzz-no-such');
		const none = await page.innerText('#flame-search ~ span');
		await page.fill('#flame-search', (await page.getAttribute('#flame > div:nth-child(2)', 'aria-label')).split(', ')[0].slice(0, 20));
		check(`${tab}: the search says how much is under a match`, [/^0 .* under a match/.test(none), /^[^0].* under a match/.test(await page.innerText('#flame-search ~ span'))], [true, true]);
		await page.fill('#flame-search', '');
		check(`${tab}: the flame graph has frames`, height > 1, true);
	}
	if (tab === 'tab-blocking')
		for (const v of await page.$$eval('#scope option', all => all.map(o => o.value)))
		{
			await page.selectOption('#scope', v);
			await settle();
			const ns = truth.figures.blocked_in[v || 'all'];
			check(`the flame graph of ${v || 'all'} is as wide as SQL says`,
				await page.evaluate(() => document.querySelector('#flame > div')?.getAttribute('aria-label') ?? null),
				ns === undefined ? null : await page.evaluate(x => `all, ${CW.ns(x)}`, ns));
		}
}

// Names of targets are text, whatever they are.
check('scripts in the page', await page.evaluate(() => document.scripts.length), 2);
check('elements that names brought', await page.evaluate(() => document.querySelectorAll('img, iframe, object, svg script, b > i > u').length), 0);
check('nothing that a name says was run', await page.evaluate(() => globalThis.injected ?? null), null);
check('no control or direction character is shown raw', await page.evaluate(() => /[\u0000-\u0008\u000b-\u001f\u007f\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)), false);

// By links, for paper needs no tabs to click.
await page.emulateMedia({ media: 'print' });
await page.evaluate(() => { location.hash = '#/overview'; });
await settle();
check('printable: the bar of tools is gone', await page.evaluate(() => getComputedStyle(document.querySelector('.tools')).display), 'none');
await page.evaluate(() => CW.theme('dark'));
check('printable: paper is light', await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'light');
if (truth.chain) {
	await page.evaluate(() => { location.hash = '#/chains'; });
	await settle();
	check('printable: no blank in place of rows that are scrolled away', await page.evaluate(() =>
		[...document.querySelectorAll('tr.space')].reduce((s, e) => s + e.getBoundingClientRect().height, 0)), 0);
	check('printable: all chains', await page.evaluate(() => {
		dispatchEvent(new Event('beforeprint'));
		return document.querySelectorAll('.vtable tr.row').length - CW.chains.list.length;
	}), 0);
}
check('what the console said', said, []);
await browser.close();
console.log(`${checks} checks, ${faults} faults`);
process.exit(faults ? 1 : 0);
