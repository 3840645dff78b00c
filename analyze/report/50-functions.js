/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Functions: calls, durations, return values and stacks of every probed function. */
'use strict';

CW.functions = { open: null };

/* In full where few values came back, else folded away: pointers and times differ each time. */
CW.functions.returns = function (f) {
	const rows = CW.rows('return').filter(r => r.probe === f.probe && (r.ret !== null || r.no_return !== 'not probed'));
	if (!rows.length) return h('p', { class: 'soft' }, 'Its returns were not recorded.');
	const table = CW.table(
			[
				{ title: 'returned', cell: r => (r.ret !== null ? code(r.ret) : `no return: ${r.no_return}`) },
				{ title: 'calls', n: true, cell: r => CW.num(r.n), sort: r => r.n },
				{ title: 'longest', n: true, cell: r => CW.ns(r.longest), sort: r => r.longest },
			],
			rows,
			{ class: 'narrow' }
		),
		values = rows.filter(r => r.ret !== null),
		none = rows.filter(r => r.ret === null).reduce((n, r) => n + r.n, 0);
	if (values.length <= 5) return table;
	return h(
		'details',
		null,
		h(
			'summary',
			null,
			values[0].n === 1
				? 'a different value each time'
				: rows.length < 20
					? `${values.length} values; ${values[0].ret} ${CW.num(values[0].n)} times`
					: `many values; most often ${values[0].ret}, ${CW.num(values[0].n)} times`,
			none ? `; ${CW.num(none)} calls without a return` : ''
		),
		table
	);
};

/* What is known of a function that submits though its returns were not recorded. */
CW.functions.submitting = function (f) {
	const plans = CW.rows('plan').filter(p => p.source === CW.probeName(f.probe)),
		b = plans.length === 1 ? CW.index('submit_block', 'plan_hop').get(plans[0].plan_hop) : null;
	return b && f.sum === null ? h('div', { class: 'soft' }, `blocked ${CW.num(b.n)} times, ${CW.about(b.ns)} in all`) : null;
};

CW.functions.calls = function (probe, chosen) {
	const rows = CW.rows('call')
		.filter(c => c.probe === probe)
		.sort((a, b) => (b.dur ?? -1) - (a.dur ?? -1));
	if (!rows.length) return null;
	const detail = h('div', { id: 'call' });
	const show = c => {
		const area = h('div');
		detail.replaceChildren(
			h('h3', null, `Call ${c.slice} in ${CW.threadName(c.utid)}`),
			h(
				'div',
				{ class: 'details' },
				CW.facts([
					['begins', `${CW.ns(c.ts)} after the start of the recording, ${CW.wall(c.ts)}`],
					['took', CW.ns(c.dur)],
					...CW.stateNames.map(s => [CW.label[s], c[s] === null ? null : CW.ns(c[s])]),
					['returned', code(c.ret ?? c.no_return ?? '')],
					['arguments', code(c.args)],
					['nested in', c.parent === null ? null : `call ${c.parent}`],
				]),
				CW.stack(c.stack)
			),
			area
		);
		if (c.dur !== null && CW.states(c.utid, c.ts, c.ts + c.dur).length) {
			CW.waterfall(area, CW.callAsChain(c));
			CW.keys = e => CW.waterfall.key(e);
		}
	};
	/* Drawn when it is in the page, as its width is needed. */
	const first = rows.find(c => String(c.slice) === chosen) ?? rows[0];
	requestAnimationFrame(() => detail.isConnected && show(first));
	const table = list =>
		CW.table(
			[
				{ title: 'call', cell: c => h('button', { type: 'button', onclick: () => show(c) }, '#' + c.slice) },
				{ title: 'begins at', n: true, cell: c => CW.about(c.ts), sort: c => c.ts },
				{ title: 'took', n: true, cell: c => CW.ns(c.dur), sort: c => c.dur },
				{
					title: 'parts',
					cell: c =>
						c.oncpu === null ? '' : CW.mix(CW.stateNames.map(s => ({ class: s, name: CW.label[s], ns: c[s] }))),
				},
				{ title: 'thread', wide: true, cell: c => CW.threadName(c.utid), sort: c => CW.threadName(c.utid) },
				{ title: 'returned', cell: c => code(c.ret ?? c.no_return ?? '') },
			],
			list
		);
	return h(
		'div',
		null,
		h('h3', null, 'Slowest calls'),
		table(rows.slice(0, 10)),
		rows.length > 10
			? h('details', null, h('summary', null, `the next ${Math.min(40, rows.length - 10)}`), table(rows.slice(10, 50)))
			: null,
		detail
	);
};

CW.tab({
	id: 'functions',
	title: 'Functions',
	order: 50,
	when: () => CW.count('function') > 0,
	render(root, rest) {
		const rows = CW.rows('function')
				.slice()
				.sort((a, b) => (b.sum ?? b.calls) - (a.sum ?? a.calls)),
			box = h('div');
		const open = (probe, chosen) => {
			const f = rows.find(r => r.probe === probe),
				stacks = CW.rows('call_stack').filter(s => s.probe === probe && s.stack !== null);
			const histogram = CW.rows('histogram').filter(r => r.part === 'call' && r.plan_hop === probe);
			/* Of a recursive function the times of outer calls hold those of inner ones. */
			const recursive = stacks.some(s => CW.frames(s.stack).filter(x => x.function === CW.probeName(probe)).length > 1);
			const byTime = f.sum !== null && !recursive,
				reasons = CW.rows('function_reason').filter(r => r.probe_id === probe);
			box.replaceChildren(
				h('h2', null, code(CW.probeName(probe))),
				...CW.rows('plan')
					.filter(p => p.target === CW.probeName(probe))
					.map(p => CW.hops.untilReturn(p.plan_hop))
					.filter(Boolean),
				h(
					'section',
					{ class: 'panel' },
					histogram.length
						? [h('h3', null, 'Durations'), CW.hops.histogram(histogram, 'work', f.n, 'calls that returned')]
						: null,
					reasons.length
						? [h('h3', null, 'Where the time of its calls goes'), CW.hops.reasons(reasons, 'its calls')]
						: null,
					h('h3', null, 'Return values'),
					CW.functions.returns(f),
					CW.functions.calls(probe, chosen)
				),
				h(
					'section',
					{ class: 'panel' },
					h('h3', null, byTime ? 'Where it is called from, by time' : 'Where it is called from, by calls'),
					CW.flame(
						stacks.map(s => ({
							frames: CW.frames(s.stack).map(CW.frameName).reverse(),
							value: byTime ? s.ns : s.n,
							n: s.n,
						})),
						byTime ? CW.ns : v => `${CW.num(v)} calls`
					)
				)
			);
		};
		const call = CW.rows('call').find(c => String(c.slice) === rest);
		root.append(
			h(
				'section',
				{ class: 'panel' },
				h(
					'p',
					{ class: 'soft' },
					'Over the whole recording, from entry to return. Time in a nested call of another recorded function counts for both.'
				),
				CW.table(
					[
						{
							title: 'function',
							wide: true,
							cell: r => [
								h(
									'button',
									{ type: 'button', class: 'mono', onclick: () => open(r.probe) },
									CW.probeName(r.probe)
								),
								CW.functions.submitting(r),
							],
							sort: r => CW.probeName(r.probe),
						},
						{ title: 'calls', n: true, cell: r => CW.num(r.calls), sort: r => r.calls },
						{ title: 'time', n: true, cell: r => CW.ns(r.sum), sort: r => r.sum },
						{ title: 'average', n: true, cell: r => CW.ns(r.avg), sort: r => r.avg },
						{ title: 'P50', n: true, cell: r => CW.ns(r.p50), sort: r => r.p50 },
						{ title: 'P95', n: true, cell: r => (r.n ? CW.percentile(r.p95, r.n, 20) : '–'), sort: r => r.p95 },
						{ title: 'P99', n: true, cell: r => (r.n ? CW.percentile(r.p99, r.n, 100) : '–'), sort: r => r.p99 },
						{ title: 'maximum', n: true, cell: r => CW.ns(r.max), sort: r => r.max },
						{
							title: 'parts',
							cell: r =>
								r.oncpu === null
									? ''
									: CW.mix(CW.stateNames.map(s => ({ class: s, name: CW.label[s], ns: r[s] }))),
						},
					],
					rows
				)
			),
			CW.legend(CW.stateNames),
			box
		);
		open(call ? call.probe : rows[0].probe, rest);
	},
});
