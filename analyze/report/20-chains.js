/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Chains: the table of chains with its filters, and the selected chain below it in two views. */
'use strict';

CW.chains = { sort: 'total', down: true, filter: {}, view: 'waterfall', selected: null };

CW.chains.total = c => (c.work === null ? null : c.queue + c.work);
CW.chains.hops = function (chain) {
	CW.chains.byChain ??= CW.group(CW.rows('hop'), r => r.chain);
	return CW.chains.byChain.get(chain) ?? [];
};

/* Sums of the parts of one chain. */
CW.chains.parts = function (c) {
	if (c.parts) return c.parts;
	const sums = { queue: 0, oncpu: 0, blocked: 0, runq: 0, preempted: 0, unknown: 0 };
	for (const x of CW.chains.hops(c.chain)) {
		sums.queue += x.start - x.submit;
		if (x.oncpu === null) sums.unknown += x.end === null ? 0 : x.end - x.start;
		else for (const s of CW.stateNames) sums[s] += x[s];
	}
	c.parts = Object.entries(sums).map(([k, ns]) => ({ class: k, name: CW.label[k], ns }));
	return c.parts;
};

/* The largest part of one hop. */
CW.chains.dominant = function (c) {
	if (c.dominant) return c.dominant;
	let best = { ns: -1, class: 'unknown', text: 'unknown' };
	for (const x of CW.chains.hops(c.chain)) {
		const p = CW.index('plan', 'plan_hop').get(x.plan);
		const offer = (cls, ns, text) => {
			if (ns > best.ns) best = { ns, class: cls, text };
		};
		offer('queue', x.start - x.submit, `queued before ${p?.target}`);
		for (const s of CW.stateNames) if (x[s] !== null) offer(s, x[s], `${p?.target} ${CW.label[s]}`);
	}
	c.dominant = best;
	return best;
};

CW.chains.evidence = function (c) {
	if (c.evidence === undefined) {
		const all = new Set(CW.chains.hops(c.chain).flatMap(x => x.evidence.split('+')));
		c.flags
			.split('+')
			.filter(Boolean)
			.forEach(f => all.add(f === 'capture edge' && c.work === null ? 'not ended' : f));
		if (all.size > 1) all.delete('exact');
		c.evidence = [...all].join(', ') || 'exact';
	}
	return c.evidence;
};

CW.chains.words = function (c) {
	c.words ??= [
		c.chain,
		c.flags,
		CW.chains.evidence(c),
		c.ret ?? '',
		CW.probeName(c.probe),
		CW.threadName(c.utid),
		...CW.chains.hops(c.chain).flatMap(x => [x.key, CW.hopName(x.plan), CW.threadName(x.src), CW.threadName(x.dst)]),
	]
		.join(' ')
		.toLowerCase();
	return c.words;
};

/* Its keys, each once. */
CW.chains.keys = c => [...new Set(CW.chains.hops(c.chain).map(x => x.key))];

CW.chains.columns = [
	{ id: 'chain', title: 'chain', width: 72, value: c => c.chain, cell: c => '#' + c.chain },
	{ id: 'start', title: 'begins at', width: 80, n: true, value: c => c.start, cell: c => CW.about(c.start) },
	{ id: 'total', title: 'total', width: 104, n: true, value: c => CW.chains.total(c), cell: c => CW.ns(CW.chains.total(c)) },
	{ id: 'mix', title: 'parts', width: 100, cell: c => CW.mix(CW.chains.parts(c)) },
	{ id: 'queue', title: 'queued', width: 104, n: true, value: c => c.queue, cell: c => CW.ns(c.queue) },
	{ id: 'work', title: 'work', width: 104, n: true, value: c => c.work, cell: c => CW.ns(c.work) },
	{
		id: 'dominant',
		title: 'largest part',
		width: 250,
		value: c => CW.chains.dominant(c).text,
		cell: c => CW.chains.dominant(c).text,
	},
	{ id: 'thread', title: 'last thread', width: 184, value: c => CW.threadName(c.utid), cell: c => CW.threadName(c.utid) },
	{ id: 'evidence', title: 'evidence', width: 84, value: c => CW.chains.evidence(c), cell: c => CW.chains.evidence(c) },
	{
		id: 'keys',
		title: 'keys',
		width: 146,
		value: c => CW.chains.hops(c.chain)[0]?.key,
		cell: c =>
			h(
				'span',
				{ class: 'mono', title: CW.chains.keys(c).join(' ') },
				CW.chains.keys(c).slice(0, 1),
				CW.chains.keys(c).length > 1 ? ` +${CW.chains.keys(c).length - 1}` : null
			),
	},
];

CW.chains.matching = function () {
	const f = CW.chains.filter,
		words = (f.text ?? '').toLowerCase().split(/\s+/).filter(Boolean);
	const least = f.least ? Number(f.least) * 1e6 : 0;
	const rows = CW.rows('chain').filter(
		c =>
			(!least || CW.chains.total(c) >= least) &&
			(!f.dominant || CW.chains.dominant(c).class === f.dominant) &&
			(!f.evidence || CW.chains.evidence(c).split(', ').includes(f.evidence)) &&
			(!f.thread || CW.chains.hops(c.chain).some(x => x.src === Number(f.thread) || x.dst === Number(f.thread))) &&
			(!f.function || CW.chains.hops(c.chain).some(x => CW.hopName(x.plan).split(' → ').includes(f.function))) &&
			words.every(w => CW.chains.words(c).includes(w))
	);
	const col = CW.chains.columns.find(x => x.id === CW.chains.sort);
	return rows.sort((a, b) => {
		const x = col.value(a),
			y = col.value(b);
		/* What is unknown comes last, either way. */
		if ((x === null) !== (y === null)) return x === null ? 1 : -1;
		return (x === y ? b.chain - a.chain : x < y ? -1 : 1) * (CW.chains.down ? -1 : 1);
	});
};

CW.chains.filters = function (changed) {
	const hops = CW.rows('hop'),
		f = CW.chains.filter;
	const threads = [...new Set(hops.flatMap(x => [x.src, x.dst]))]
		.map(u => [u, CW.threadName(u)])
		.sort((a, b) => (a[1] < b[1] ? -1 : 1));
	const functions = [...new Set(CW.rows('plan').flatMap(p => [p.source, p.target]))].map(x => [x, x]);
	const evidence = [...new Set(CW.rows('chain').flatMap(c => CW.chains.evidence(c).split(', ')))].map(x => [x, x]);
	const classes = [...new Set(CW.rows('chain').map(c => CW.chains.dominant(c).class))].map(x => [x, CW.label[x]]);
	const choose = (id, title, options) =>
		h(
			'label',
			null,
			title,
			h(
				'select',
				{
					id: 'filter-' + id,
					onchange: e => {
						f[id] = e.target.value;
						changed();
					},
				},
				h('option', { value: '' }, 'any'),
				options.map(([v, t]) => h('option', { value: v, selected: String(f[id]) === String(v) }, t))
			)
		);
	const type = (id, title, attrs) =>
		h(
			'label',
			null,
			title,
			h('input', {
				id: 'filter-' + id,
				value: f[id] ?? '',
				oninput: e => {
					f[id] = e.target.value;
					changed();
				},
				...attrs,
			})
		);
	return h(
		'div',
		{ class: 'filters' },
		type('text', 'Search', { type: 'search', placeholder: 'key, thread, function …' }),
		type('least', 'Total at least, ms', { type: 'number', min: 0, step: 'any', style: { width: '110px' } }),
		choose('dominant', 'Largest part', classes),
		choose('thread', 'Thread', threads),
		choose('function', 'Function', functions),
		choose('evidence', 'Evidence', evidence),
		h('span', { class: 'count', id: 'chain-count', role: 'status' })
	);
};

/* A table of fixed row height that holds the visible rows only. */
CW.chains.buildTable = function () {
	const ROW = 26,
		cols = CW.chains.columns,
		self = CW.chains;
	const body = h('tbody'),
		box = h('div', { class: 'vtable', tabindex: 0, role: 'region', 'aria-label': 'Chains' });
	const heads = cols.map(c =>
		h(
			'th',
			{ scope: 'col', class: c.n ? 'n' : null, style: { width: c.width + 'px' } },
			c.value
				? h(
						'button',
						{
							type: 'button',
							onclick: () => {
								self.down = self.sort === c.id ? !self.down : true;
								self.sort = c.id;
								self.refresh();
							},
						},
						c.title
					)
				: c.title
		)
	);
	const row = c =>
		h(
			'tr',
			{ class: 'row', 'aria-current': String(c.chain === self.selected), onclick: () => CW.go('#/chains/' + c.chain) },
			cols.map(x => {
				const cell = x.cell(c);
				return h(
					'td',
					{
						class: x.n ? 'n' : null,
						title: typeof cell === 'string' ? cell : (cell.getAttribute?.('title') ?? cell.textContent),
					},
					x.id === 'chain' ? h('a', { href: '#/chains/' + c.chain }, cell) : cell
				);
			})
		);
	/* Only the rows in sight, but for paper. */
	const draw = (self.draw = all => {
		const first = all ? 0 : Math.max(0, Math.floor(box.scrollTop / ROW) - 4),
			last = all ? self.list.length : Math.min(self.list.length, first + 26);
		body.replaceChildren(
			h('tr', { class: 'space', style: { height: first * ROW + 'px' } }),
			...self.list.slice(first, last).map(row),
			h('tr', { class: 'space', style: { height: (self.list.length - last) * ROW + 'px' } })
		);
	});
	self.refresh = () => {
		self.list = self.matching();
		document.getElementById('chain-count').textContent = [
			`${CW.num(self.list.length)} of ${CW.num(CW.count('chain'))} chains`,
			`, sorted by ${cols.find(x => x.id === self.sort).title}`,
			self.list.length > 9 ? '; the list scrolls' : '',
		].join('');
		cols.forEach((c, i) => {
			if (c.value)
				heads[i].setAttribute('aria-sort', c.id !== self.sort ? 'none' : self.down ? 'descending' : 'ascending');
		});
		draw();
	};
	self.reveal = () => {
		const at = self.list.findIndex(c => c.chain === self.selected);
		if (at >= 0 && (at * ROW < box.scrollTop || at * ROW > box.scrollTop + box.clientHeight - 3 * ROW))
			box.scrollTop = Math.max(0, at * ROW - 3 * ROW);
		draw();
	};
	box.addEventListener('scroll', () => requestAnimationFrame(() => draw()));
	box.append(
		h(
			'table',
			{ style: { width: cols.reduce((s, c) => s + c.width, 0) + 'px' } },
			h('thead', null, h('tr', null, heads)),
			body
		)
	);
	return box;
};

/* ---- the selected chain ---- */
/* In which arguments the key of a hop is; that of its source is in the plan alone. */
CW.chains.keyIs = function (x) {
	const p = CW.index('plan', 'plan_hop').get(x.plan),
		hops = [...(CW.info('plan') ?? '').matchAll(/- source: (.*?)\\x0a\s*source_arg: (\w+)\\x0a\s*target: (.*?)\\x0a/g)],
		[, source, arg, target] = hops[x.plan] ?? [];
	return (
		(p && source === p.source && target === p.target ? `argument ${arg} of ${p.source} = ` : '') +
		`argument ${x.arg} of ${p?.target}`
	);
};
CW.chains.hopTable = function (c) {
	return CW.table(
		[
			{ title: 'hop', cell: x => x.plan },
			{
				title: 'submits → takes',
				wide: true,
				cell: x => [
					code(CW.hopName(x.plan)),
					h('div', { class: 'soft' }, `submitted by ${CW.threadName(x.src)}, taken by ${CW.threadName(x.dst)}`),
					h('div', { class: 'soft' }, `key: ${CW.chains.keyIs(x)}`),
				],
			},
			{ title: 'key', nowrap: true, cell: x => code(x.key) },
			{ title: 'queued', n: true, cell: x => CW.ns(x.start - x.submit) },
			{ title: 'work', n: true, cell: x => (x.end === null ? 'unknown' : CW.ns(x.end - x.start)) },
			...CW.stateNames
				.filter(s => s !== 'unknown' || CW.chains.hops(c.chain).some(x => x.unknown > 0))
				.map(s => ({ title: CW.label[s], n: true, cell: x => CW.ns(x[s]) })),
			{
				title: 'evidence',
				cell: x => [x.evidence, x.candidates > 1 ? h('div', { class: 'soft' }, `${x.candidates} candidates`) : null],
			},
			{ title: 'submitted at', cell: x => h('details', null, h('summary', null, 'stack'), CW.stack(x.src_stack)) },
		],
		CW.chains.hops(c.chain),
		{ id: 'hop-table' }
	);
};

CW.chains.show = function (box, id) {
	const self = CW.chains,
		c = CW.index('chain', 'chain').get(id);
	self.selected = id;
	if (!c) {
		box.replaceChildren(h('p', { class: 'warn' }, `Chain ${id} is not in this file.`));
		return;
	}
	const p = CW.chains.parts(c),
		step = d => {
			const at = self.list.findIndex(x => x.chain === self.selected),
				next = self.list[at + d];
			if (next) CW.go('#/chains/' + next.chain);
		};
	const views = { waterfall: 'Time axis', sequence: 'Sequence' };
	const area = h('div', { id: 'chain-view' });
	const draw = () => {
		area.replaceChildren();
		(self.view === 'waterfall' ? CW.waterfall : CW.sequence)(area, c);
		for (const b of buttons) b.setAttribute('aria-pressed', b.dataset.view === self.view);
	};
	const buttons = Object.entries(views).map(([k, v]) =>
		h(
			'button',
			{
				type: 'button',
				'data-view': k,
				onclick: () => {
					self.view = k;
					draw();
				},
			},
			v
		)
	);
	box.replaceChildren(
		h('h2', null, CW.term('chain', 'Chain'), ` #${c.chain}`),
		h(
			'p',
			null,
			CW.chains.total(c) === null
				? [h('strong', null, 'not ended'), ' (its last function had not returned when the recording was over)']
				: h('strong', null, CW.ns(CW.chains.total(c))),
			`, from ${CW.about(c.start)} after the start of the recording. Largest part: `,
			h('strong', null, CW.chains.dominant(c).text),
			` (${CW.ns(CW.chains.dominant(c).ns)}). `,
			CW.term('evidence', 'Evidence'),
			`: ${CW.chains.evidence(c)}`,
			c.complete ? '.' : [', ', h('span', { class: 'warn' }, 'incomplete.')]
		),
		h('div', { style: { maxWidth: '900px' } }, CW.mix(p, true)),
		h(
			'div',
			{ class: 'bar' },
			buttons,
			h('span', { class: 'grow' }),
			h('button', { type: 'button', title: 'the chain above in the table ([)', onclick: () => step(-1) }, '↑ previous'),
			h('button', { type: 'button', title: 'the chain below in the table (])', onclick: () => step(1) }, '↓ next')
		),
		area,
		h('h3', null, CW.term('hop', 'Hops'), ' of this chain'),
		h('div', { class: 'panel' }, CW.chains.hopTable(c))
	);
	self.step = step;
	draw();
	self.reveal?.();
};

CW.tab({
	id: 'chains',
	title: 'Chains',
	order: 20,
	when: () => CW.count('chain') > 0,
	render(root, rest) {
		const self = CW.chains,
			box = h('section', { id: 'chain', 'aria-live': 'off' });
		CW.add(root, [self.filters(() => self.refresh()), self.buildTable(), box]);
		self.refresh();
		this.update = more => {
			const id = Number(more) || self.selected || self.list[0]?.chain;
			if (id) self.show(box, id);
		};
		this.update(rest);
		CW.keys = e => {
			if (e.key === '[' || e.key === ']') self.step?.(e.key === ']' ? 1 : -1);
			else return self.view === 'waterfall' && CW.waterfall.key?.(e);
			return true;
		};
	},
});

addEventListener('beforeprint', () => CW.chains.draw?.(true));
addEventListener('afterprint', () => CW.chains.draw?.(false));
