/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Blocking: what threads waited for, who ended it, who ran instead, and under which stacks. */
'use strict';

CW.blocking = { scope: '' };

CW.blocking.others = function (rows, title) {
	const all = [...CW.group(rows, r => r.utid)].map(([utid, rs]) => ({
		utid,
		ns: rs.reduce((s, r) => s + r.ns, 0),
		n: rs.reduce((s, r) => s + r.n, 0),
		classes: rs.map(r => r.class).join(', '),
	}));
	return h(
		'section',
		{ class: 'panel' },
		h('h3', null, title),
		all.length
			? CW.table(
					[
						{
							title: 'thread',
							cell: r => [CW.threadName(r.utid), h('div', { class: 'soft' }, CW.thread(r.utid)?.process ?? '')],
							sort: r => CW.threadName(r.utid),
						},
						{ title: 'time', n: true, cell: r => CW.ns(r.ns), sort: r => r.ns },
						{ title: 'times', n: true, cell: r => CW.num(r.n), sort: r => r.n },
						{ title: 'of', cell: r => r.classes },
					],
					all.sort((a, b) => b.ns - a.ns).slice(0, 15)
				)
			: h('p', { class: 'soft' }, 'none')
	);
};

CW.tab({
	id: 'blocking',
	title: 'Blocking',
	order: 40,
	when: () => CW.count('state') > 0,
	render(root) {
		const scopes = [
			['', 'all traced threads'],
			...CW.rows('plan').map(p => ['hop ' + p.plan_hop, `work of hop ${p.plan_hop} ${CW.hopName(p.plan_hop)}`]),
			...CW.rows('function').map(f => ['call ' + f.probe, `calls of ${CW.probeName(f.probe)}`]),
		];
		const body = h('div');
		const draw = () => {
			const [kind, id] = CW.blocking.scope.split(' ');
			const stacks = CW.rows('offcpu').filter(o =>
				kind === 'hop'
					? o.plan_hop === Number(id)
					: kind === 'call'
						? o.probe === Number(id)
						: o.plan_hop === null && o.probe === null
			);
			const reasons =
				kind === 'hop'
					? CW.rows('hop_reason').filter(r => r.plan_hop === Number(id))
					: kind === 'call'
						? CW.rows('function_reason').filter(r => r.probe_id === Number(id))
						: CW.rows('wait_reason');
			body.replaceChildren(
				h('section', { class: 'panel' }, h('h3', null, 'Top reasons'), CW.hops.reasons(reasons, 20)),
				h(
					'section',
					{ class: 'panel' },
					h('h3', null, 'Time asleep, by stack'),
					CW.flame(
						stacks
							.filter(s => s.stack !== null)
							.map(s => ({
								frames: CW.frames(s.stack).map(CW.frameName).reverse(),
								leaf: s.class,
								value: s.ns,
								n: s.n,
							})),
						CW.ns
					)
				)
			);
		};
		root.append(
			h(
				'div',
				{ class: 'filters' },
				h(
					'label',
					null,
					'Of',
					h(
						'select',
						{
							id: 'scope',
							onchange: e => {
								CW.blocking.scope = e.target.value;
								draw();
							},
						},
						scopes.map(([v, t]) => h('option', { value: v, selected: v === CW.blocking.scope }, t))
					)
				)
			),
			body,
			h(
				'div',
				{ class: 'columns' },
				CW.blocking.others(
					CW.rows('other').filter(o => o.class !== 'run queue' && o.class !== 'preempted'),
					'Who ended waits of traced threads'
				),
				CW.blocking.others(
					CW.rows('other').filter(o => o.class === 'run queue' || o.class === 'preempted'),
					'Who ran while traced threads waited for a CPU'
				)
			)
		);
		draw();
	},
});
