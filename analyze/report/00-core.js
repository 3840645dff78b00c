/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page's foundation: data, elements, units, tabs, theme, keys. A tab is one file that calls CW.tab and
 * reads the tables it needs; nothing here knows which tabs there are. Text of targets becomes text nodes
 * only, with characters that could mislead made visible.
 */
'use strict';

const CW = { data: {}, tabs: [], byUtid: new Map(), stateNames: ['oncpu', 'blocked', 'runq', 'preempted', 'unknown'] };
/* One word for each thing, the same in every view, and what it means. */
CW.label = {
	queue: 'queued',
	oncpu: 'on CPU',
	blocked: 'blocked',
	runq: 'run queue',
	preempted: 'preempted',
	unknown: 'unknown',
	work: 'work',
};
CW.meaning = {
	chain: 'one request on its way from thread to thread: from its first submission to the end of its last work',
	hop: 'one step of a chain: a thread submits a task, the task is queued, a thread takes it and works on it',
	queue: 'submitted and not yet taken; the task is in no thread',
	work: 'from when a thread takes the task until it submits the next one, or returns',
	oncpu: 'the thread runs',
	blocked: 'the thread sleeps until it is woken: a timer, a lock, a condition, I/O',
	runq: 'woken and ready to run, but not yet on a CPU',
	preempted: 'ready to run all along, but another thread was given its CPU',
	unknown: 'records were lost',
	'woken by': 'the thread or interrupt that ended the time blocked',
	evidence: 'exact: one open submission had this key; anything else says what is in doubt',
	key: 'the value, mostly a pointer, by which a submission and its taking are matched',
};

/* ---- data ---- */
CW.visible = s =>
	s.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, c =>
		c.charCodeAt(0) < 256
			? '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0')
			: '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0')
	);

CW.inflate = async function (base64) {
	const raw = Uint8Array.from(atob(base64.replace(/\s+/g, '')), c => c.charCodeAt(0));
	const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
	return new Response(stream).text();
};

CW.decode = function (json) {
	const data = JSON.parse(json);
	for (const table of Object.values(data))
		for (const column of Object.values(table))
			for (let i = 0; i < column.length; i++) if (typeof column[i] === 'string') column[i] = CW.visible(column[i]);
	return data;
};

CW.count = name => {
	const table = CW.data[name],
		first = table && Object.values(table)[0];
	return first ? first.length : 0;
};

/* Rows of a table as objects; made once. */
CW.rows = function (name) {
	const table = CW.data[name] || {},
		keys = Object.keys(table);
	CW.cache ??= {};
	return (CW.cache[name] ??= Array.from({ length: CW.count(name) }, (_, i) => {
		const row = {};
		for (const k of keys) row[k.replace(/_json$/, '')] = table[k][i];
		return row;
	}));
};

CW.index = function (name, key) {
	CW.indexes ??= {};
	return (CW.indexes[name + ' ' + key] ??= new Map(CW.rows(name).map(r => [r[key], r])));
};

CW.group = function (rows, key) {
	const groups = new Map();
	for (const r of rows) {
		const k = key(r);
		if (groups.has(k)) groups.get(k).push(r);
		else groups.set(k, [r]);
	}
	return groups;
};

CW.info = key => {
	const row = CW.index('info', 'key').get(key);
	return row ? row.value : null;
};

/* ---- elements ---- */
CW.set = function (el, attrs) {
	for (const [k, v] of Object.entries(attrs || {}))
		if (k.startsWith('on')) el.addEventListener(k.slice(2), v);
		else if (k === 'style') Object.assign(el.style, v);
		else if (v !== null && v !== undefined && v !== false) el.setAttribute(k, v === true ? '' : v);
	return el;
};

CW.add = function (el, children) {
	for (const c of children.flat(Infinity))
		if (c !== null && c !== undefined && c !== false) el.append(c instanceof Node ? c : document.createTextNode(String(c)));
	return el;
};

const h = (tag, attrs, ...children) => CW.add(CW.set(document.createElement(tag), attrs), children);
const svg = (tag, attrs, ...children) =>
	CW.add(CW.set(document.createElementNS('http://www.w3.org/2000/svg', tag), attrs), children);
const code = text => h('code', null, text);

/* ---- units ---- */
/* What to divide ns by, and its name. */
CW.unit = ns => (ns < 1e3 ? [1, 'ns'] : ns < 1e6 ? [1e3, 'µs'] : ns < 1e9 ? [1e6, 'ms'] : [1e9, 's']);
CW.ns = function (ns) {
	if (ns === null || ns === undefined) return '–';
	const [div, unit] = CW.unit(Math.abs(ns)),
		v = ns / div;
	return (div === 1 ? String(Math.round(v)) : v.toFixed(3)) + ' ' + unit;
};
/* Three digits, where the exact value is elsewhere. */
CW.about = function (ns) {
	if (ns === null || ns === undefined) return '–';
	const [div, unit] = CW.unit(Math.abs(ns)),
		v = ns / div;
	return (Math.abs(v) >= 100 || div === 1 ? v.toFixed(0) : Math.abs(v) >= 10 ? v.toFixed(1) : v.toFixed(2)) + ' ' + unit;
};
CW.num = n => (n === null || n === undefined ? '–' : Number(n).toLocaleString('en-US'));
/* What is there is never 0 %. */
CW.pct = function (x) {
	if (x === null || !isFinite(x)) return '–';
	return x > 0 && x < 0.0005 ? '< 0.1 %' : (100 * x).toFixed(x > 0 && x < 0.0995 ? 1 : 0) + ' %';
};
CW.rate = x => (x >= 100 ? CW.num(Math.round(x)) : x.toFixed(1));
CW.wall = function (ns) {
	const c = CW.rows('clock')[0];
	const us = c.wall_us + Math.floor(ns / 1e3) + c.utc_offset_s * 1e6;
	return new Date(us / 1e3).toISOString().replace('T', ' ').slice(0, 19) + '.' + String(us % 1e6).padStart(6, '0');
};

/* Where a number is withheld because too few samples make it a guess. */
CW.percentile = (value, n, need) =>
	value !== null && value !== undefined
		? CW.ns(value)
		: h('span', { class: 'soft hidden', title: `${n} samples; from ${need} on it is shown` }, `hidden: fewer than ${need}`);

/* ---- names ---- */
CW.thread = utid => CW.index('thread', 'utid').get(utid);
CW.threadName = function (utid) {
	const t = CW.thread(utid);
	return t ? `${t.name ?? 'thread'} ${t.tid}` : 'unknown thread';
};

/* What a thread is for: {verb, plans} for taking and for submitting, over the whole capture. */
CW.roles = function (utid) {
	CW.rolesBy ??= new Map(
		['worker', 'submitter'].map(name => [
			name,
			CW.group(
				CW.rows(name)
					.slice()
					.sort((a, b) => a.plan_hop - b.plan_hop),
				r => r.utid
			),
		])
	);
	return [
		{ verb: 'takes', of: 'target', plans: (CW.rolesBy.get('worker').get(utid) ?? []).map(r => r.plan_hop) },
		{ verb: 'submits', of: 'source', plans: (CW.rolesBy.get('submitter').get(utid) ?? []).map(r => r.plan_hop) },
	].filter(r => r.plans.length);
};
/* The same in words: "takes hop 0, submits hop 1". */
CW.role = utid =>
	CW.roles(utid)
		.map(r => `${r.verb} ${r.plans.length > 1 ? 'hops' : 'hop'} ${r.plans.join(', ')}`)
		.join('; ');
/* The functions by which it does that. */
CW.roleFunctions = utid =>
	CW.roles(utid)
		.flatMap(r => r.plans.map(p => CW.index('plan', 'plan_hop').get(p)?.[r.of]))
		.filter((f, i, all) => f && all.indexOf(f) === i);
CW.threadCell = function (utid) {
	const role = CW.role(utid);
	return [CW.threadName(utid), role ? h('div', { class: 'soft' }, role) : null];
};

CW.hopName = function (plan) {
	const p = CW.index('plan', 'plan_hop').get(plan);
	return p ? `${p.source} → ${p.target}` : `hop ${plan}`;
};
CW.probeName = id => CW.index('probe', 'probe_id').get(id)?.function ?? 'unknown function';

CW.frames = stack => (CW.index('stack', 'stack').get(stack)?.frames ?? []).map(f => CW.index('frame', 'frame').get(f));
CW.frameName = f => f.function ?? f.address;
CW.stack = function (stack, limit = 40) {
	const s = CW.index('stack', 'stack').get(stack),
		frames = CW.frames(stack);
	if (!s) return h('p', { class: 'soft' }, 'no stack');
	return h(
		'ol',
		{ class: 'stack' },
		frames
			.slice(0, limit)
			.map(f =>
				h('li', null, CW.frameName(f), ' ', h('span', { class: 'at' }, f.file ? `${f.file}:${f.line}` : (f.module ?? '')))
			),
		frames.length > limit ? h('li', { class: 'at' }, `and ${frames.length - limit} more`) : null,
		s.problem || s.truncated
			? h('li', { class: 'at' }, s.problem ?? 'cut: the limit of frames, or the end of what was saved')
			: null,
		s.caller_only ? h('li', { class: 'at' }, 'no more: this code has no frame pointers') : null
	);
};

/* ---- parts ---- */
CW.facts = pairs =>
	h(
		'dl',
		{ class: 'facts' },
		pairs.filter(p => p && p[1] !== null && p[1] !== undefined).map(([k, v]) => [h('dt', null, k), h('dd', null, v)])
	);

CW.mix = function (parts, big) {
	const total = parts.reduce((sum, p) => sum + (p.ns || 0), 0) || 1;
	const text = parts
		.filter(p => p.ns > 0)
		.map(p => `${p.name} ${CW.ns(p.ns)} (${CW.pct(p.ns / total)})`)
		.join(', ');
	return h(
		'div',
		{ class: big ? 'mix big' : 'mix', role: 'img', 'aria-label': text, title: text },
		parts.filter(p => p.ns > 0).map(p => h('i', { class: 'c-' + p.class, style: { width: (100 * p.ns) / total + '%' } }))
	);
};

CW.legend = (names = ['queue', 'oncpu', 'blocked', 'runq', 'preempted', 'unknown']) =>
	h(
		'div',
		{ class: 'legend' },
		names.map(n => h('span', null, h('i', { class: 'c-' + n }), h('b', null, CW.label[n]), ' ', CW.meaning[n]))
	);

/* A word that says what it means when it is pointed at or reached by Tab. */
CW.term = (name, text) =>
	CW.tip(h('dfn', { tabindex: 0, 'aria-description': CW.meaning[name] }, text ?? CW.label[name] ?? name), () =>
		h('div', null, CW.meaning[name])
	);

/* A table: columns are {title, n (number), nowrap, wide (text), cell(row), sort(row)}. A click on a head sorts. A number
   by which the rows fall from the start has its arrow at once. */
CW.table = function (columns, rows, attrs) {
	const body = h('tbody');
	const falls = c => {
		const values = c.n && c.sort ? rows.map(c.sort) : [];
		return values.some(v => v !== values[0]) && values.every((v, i) => !i || v <= values[i - 1]);
	};
	const found = columns.findIndex(falls);
	let by = found < 0 ? null : found,
		down = true;
	const order = i => (i !== by ? 'none' : down ? 'descending' : 'ascending');
	const fill = () => {
		const sorted =
			by === null
				? rows
				: rows.slice().sort((a, b) => {
						const x = columns[by].sort(a),
							y = columns[by].sort(b);
						/* What is unknown comes last, either way. */
						if ((x ?? null) === null || (y ?? null) === null) return ((x ?? null) === null) - ((y ?? null) === null);
						return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
					});
		body.replaceChildren(
			...sorted.map(r =>
				h(
					'tr',
					null,
					columns.map(c => h('td', { class: c.n ? 'n' : c.nowrap ? 'nowrap' : c.wide ? 'wide' : null }, c.cell(r)))
				)
			)
		);
	};
	const heads = columns.map((c, i) =>
		h(
			'th',
			{ class: c.n ? 'n' : null, scope: 'col', 'aria-sort': c.sort ? order(i) : null },
			c.sort
				? h(
						'button',
						{
							type: 'button',
							onclick: () => {
								down = by === i ? !down : true;
								by = i;
								heads.forEach((x, j) => columns[j].sort && x.setAttribute('aria-sort', order(j)));
								fill();
							},
						},
						c.title
					)
				: c.title
		)
	);
	fill();
	return h('div', { class: 'scroll' }, h('table', attrs, h('thead', null, h('tr', null, heads)), body));
};

/* ---- tooltip ---- */
CW.showTip = function (x, y, parts) {
	const tip = document.getElementById('tip');
	tip.replaceChildren(...parts);
	tip.hidden = false;
	const box = tip.getBoundingClientRect();
	tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + 'px';
	tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18) + 'px';
};

CW.tip = function (el, make) {
	const tip = document.getElementById('tip');
	const show = (x, y) => CW.showTip(x, y, [make()].flat());
	el.addEventListener('pointermove', e => show(e.clientX, e.clientY));
	el.addEventListener('pointerleave', () => {
		tip.hidden = true;
	});
	el.addEventListener('focus', () => {
		const box = el.getBoundingClientRect();
		if (el.matches(':focus-visible')) show(box.left, box.bottom);
	});
	el.addEventListener('blur', () => {
		tip.hidden = true;
	});
	return el;
};

/* ---- tabs: CW.tab({id, title, order, when(), render(root, rest)}) ---- */
CW.tab = tab => CW.tabs.push(tab);

CW.open = function () {
	const [, id, rest] = /^#\/?([a-z]*)\/?(.*)$/.exec(location.hash) || [];
	const tab = CW.shown.find(t => t.id === id) || CW.shown[0];
	const main = document.getElementById('main');
	document.getElementById('tip').hidden = true;
	for (const b of document.querySelectorAll('#tabs [role=tab]')) {
		const on = b.id === 'tab-' + tab.id;
		b.setAttribute('aria-selected', on);
		b.tabIndex = on ? 0 : -1;
	}
	main.setAttribute('aria-labelledby', 'tab-' + tab.id);
	if (CW.current === tab && tab.update) return tab.update(decodeURIComponent(rest || ''));
	CW.current = tab;
	CW.keys = null;
	main.replaceChildren();
	tab.render(main, decodeURIComponent(rest || ''));
};

CW.go = hash => {
	if (location.hash === hash) CW.open();
	else location.hash = hash;
};

CW.buildTabs = function () {
	const nav = document.getElementById('tabs');
	CW.shown = CW.tabs.filter(t => !t.when || t.when()).sort((a, b) => a.order - b.order);
	CW.shown.forEach((t, i) =>
		nav.append(
			h(
				'button',
				{
					type: 'button',
					role: 'tab',
					id: 'tab-' + t.id,
					'aria-controls': 'main',
					title: `${t.title} (${i + 1})`,
					onclick: () => CW.go('#/' + t.id),
					onkeydown: e => {
						const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
						if (!step) return;
						e.preventDefault();
						const next = CW.shown[(i + step + CW.shown.length) % CW.shown.length];
						CW.go('#/' + next.id);
						document.getElementById('tab-' + next.id).focus();
					},
				},
				t.title
			)
		)
	);
	document.getElementById('main').setAttribute('role', 'tabpanel');
};

/* ---- theme and keys ---- */
CW.theme = function (name) {
	document.documentElement.dataset.theme = name;
	document.getElementById('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
	try {
		localStorage.setItem('callweave-theme', name);
	} catch (e) {
		/* a file may have no storage */
	}
};
CW.firstTheme = function () {
	let kept = null;
	try {
		kept = localStorage.getItem('callweave-theme');
	} catch (e) {
		/* as above */
	}
	return kept || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
};
CW.flipTheme = () => CW.theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');

CW.showHelp = function () {
	const dialog = document.getElementById('keys');
	const rows = [
		[`1 … ${CW.shown.length}`, 'the tabs'],
		['T', 'light or dark'],
		['/', 'search'],
		['[ and ]', 'the chain above and below in the table'],
		['?', 'these words and keys'],
		['+ and −', 'zoom the time axis'],
		['← and →', 'move along it'],
		['0', 'all of it'],
		['Ctrl and wheel, pinch', 'zoom where the pointer is'],
		['Shift and wheel, drag', 'move'],
		['Tab, Enter', 'from part to part of the drawing, and its details'],
	];
	const words = Object.keys(CW.meaning).filter(
		k => CW.count('plan') || !['chain', 'hop', 'queue', 'evidence', 'key'].includes(k)
	);
	dialog.replaceChildren(
		h('h2', null, 'Words'),
		CW.facts(words.map(k => [h('b', null, CW.label[k] ?? k), CW.meaning[k]])),
		h('h2', null, 'Keys'),
		h(
			'table',
			null,
			h(
				'tbody',
				null,
				rows.map(([k, v]) => h('tr', null, h('td', { class: 'nowrap' }, h('kbd', null, k)), h('td', null, v)))
			)
		),
		h('p', null, h('button', { type: 'button', onclick: () => dialog.close() }, 'Close'))
	);
	dialog.showModal();
	/* Its button, which gets the focus, may be far down. */
	dialog.scrollTop = 0;
};

CW.onKey = function (e) {
	if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
	const n = Number(e.key);
	if (n >= 1 && n <= CW.shown.length) CW.go('#/' + CW.shown[n - 1].id);
	else if (e.key === 't' || e.key === 'T') CW.flipTheme();
	else if (e.key === '?') CW.showHelp();
	else if (e.key === '/' && document.querySelector('main input[type=search]'))
		document.querySelector('main input[type=search]').focus();
	else if (!CW.keys || !CW.keys(e)) return;
	e.preventDefault();
};

CW.reduced = function () {
	const s = CW.rows('selection')[0],
		p = document.getElementById('reduced'),
		said = [];
	const filters = CW.rows('filter').map(f => `${f.name} ${f.value}`);
	if (filters.length)
		said.push(`Chosen by the report's filters: ${filters.join(', ')}; ${CW.num(s.selected)} of ${CW.num(s.chains)} chains.`);
	if (s.shown < s.selected)
		said.push(
			`This file holds ${CW.num(s.shown)} of ${CW.num(s.selected)} chains one by one: the slowest ${CW.num(s.slow)} ` +
				`and a uniform sample of ${CW.num(s.sample)} of the others. ` +
				`Counts, averages, percentiles, histograms and sums are exact, over all.`
		);
	if (s.calls_shown < s.calls)
		said.push(
			`Of ${CW.num(s.calls)} calls it holds ${CW.num(s.calls_shown)} one by one: the slowest and a uniform sample; sums are over all.`
		);
	if (s.with_states < s.shown)
		said.push(
			`Thread states are here for ${CW.num(s.with_states)} of these chains, the slowest first; ` +
				`a report with --from and --to has those of others.`
		);
	p.textContent = said.join(' ');
	p.hidden = !said.length;
};

CW.start = async function () {
	CW.theme(CW.firstTheme());
	document.getElementById('theme').addEventListener('click', CW.flipTheme);
	document.getElementById('help').addEventListener('click', CW.showHelp);
	try {
		CW.data = CW.decode(await CW.inflate(document.getElementById('data').textContent));
	} catch (e) {
		document.getElementById('loading').textContent =
			'This browser cannot read the data (it needs DecompressionStream with deflate-raw: ' +
			'Chrome 103, Firefox 113, Safari 16.4 or later): ' +
			e.message;
		throw e;
	}
	const name = CW.rows('thread').find(t => t.traced)?.process ?? 'capture';
	document.title = `${name} – callweave`;
	document.getElementById('what').textContent = name;
	CW.reduced();
	CW.buildTabs();
	addEventListener('hashchange', CW.open);
	addEventListener('keydown', CW.onKey);
	CW.open();
	document.documentElement.dataset.ready = 'yes';
};
addEventListener('DOMContentLoaded', CW.start);
