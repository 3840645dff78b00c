/* SPDX-License-Identifier: GPL-2.0-only */
/* The selected chain as a sequence: a column a thread, time downwards in order but not to scale. */
'use strict';

CW.sequence = function (root, c) {
	const hops = CW.chains.hops(c.chain),
		lanes = CW.lanesOf(c).filter(l => !l.hop && !l.wakes),
		n = lanes.length;
	const middle = utid => ((lanes.findIndex(l => l.utid === utid) + 0.5) / n) * 100;
	const line = (x1, y1, x2, y2, cls) => svg('line', { x1, y1, x2, y2, class: cls, 'vector-effect': 'non-scaling-stroke' });
	const cell = (parts, more) =>
		h(
			'div',
			{ class: 'seq-lanes' },
			svg(
				'svg',
				{ viewBox: '0 0 100 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
				lanes.map(l => line(middle(l.utid), 0, middle(l.utid), 100, 'lifeline')),
				parts
			),
			more
		);
	const at = t => h('div', { class: 'seq-time' }, CW.ns(t - c.start));
	const rows = [];
	for (const x of hops) {
		const p = CW.index('plan', 'plan_hop').get(x.plan),
			from = middle(x.src),
			to = middle(x.dst);
		rows.push(
			at(x.submit),
			cell(
				[line(from, 8, to, 92, 'arrow')],
				h('span', { class: 'seq-head', style: { left: to + '%' } }, from < to ? '▶' : from > to ? '◀' : '▼')
			),
			h(
				'div',
				{ class: 'seq-text' },
				h('b', null, `hop ${x.plan} `),
				code(p.source),
				' submits ',
				code(x.key),
				' in ',
				CW.threadName(x.src),
				h('div', null, 'queued for ', h('strong', null, CW.ns(x.start - x.submit)))
			)
		);
		const states = CW.states(x.dst, x.start, x.end ?? x.start),
			total = Math.max(1, (x.end ?? x.start) - x.start);
		rows.push(
			at(x.start),
			cell(
				[],
				h(
					'div',
					{ class: 'seq-box', style: { left: `calc(${to}% - 9px)` } },
					states.slice(0, 200).map(s =>
						h('i', {
							class: 'c-' + s.state,
							style: {
								flex: `${Math.max(1, (1000 * (Math.min(x.end, s.ts + s.dur) - Math.max(x.start, s.ts))) / total)} 1 1px`,
							},
						})
					)
				)
			),
			h(
				'div',
				{ class: 'seq-text' },
				code(p.target),
				' takes it in ',
				CW.threadName(x.dst),
				': work for ',
				h('strong', null, x.end === null ? 'an unknown time' : CW.ns(x.end - x.start)),
				x.oncpu === null ? null : CW.mix(CW.stateNames.map(s => ({ class: s, name: CW.label[s], ns: x[s] }))),
				h(
					'div',
					{ class: 'soft' },
					CW.stateNames
						.filter(s => x[s] > 0)
						.map(s => `${CW.label[s]} ${CW.about(x[s])}`)
						.join(', ')
				)
			)
		);
	}
	rows.push(
		at(c.end),
		cell([]),
		h('div', { class: 'seq-text' }, c.no_return ? `no return: ${c.no_return}` : ['returns ', code(c.ret ?? '')])
	);
	root.append(
		h(
			'div',
			{ class: 'panel sequence', id: 'sequence' },
			h('div', { class: 'seq-time soft' }, 'since its first submission'),
			h(
				'div',
				{ class: 'seq-names' },
				lanes.map(l => h('div', null, CW.threadName(l.utid), h('div', { class: 'soft' }, l.does.join(', '))))
			),
			h('div', { class: 'seq-text soft' }, 'in the order of time; lengths are not to scale'),
			rows
		),
		CW.legend()
	);
};
