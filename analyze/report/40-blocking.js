/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Blocking: on what threads were blocked, who woke them, who ran instead, and under which stacks. */
'use strict';

CW.blocking = { scope: '' };

CW.blocking.others = function (rows, title, kinds) {
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
							wide: true,
							cell: r => {
								const t = CW.thread(r.utid);
								return t?.traced
									? CW.threadCell(r.utid)
									: [CW.threadName(r.utid), h('div', { class: 'soft' }, `process ${t?.process ?? 'unknown'}`)];
							},
							sort: r => CW.threadName(r.utid),
						},
						{ title: 'time', n: true, cell: r => CW.ns(r.ns), sort: r => r.ns },
						{ title: 'times', n: true, cell: r => CW.num(r.n), sort: r => r.n },
						{ title: kinds, cell: r => r.classes },
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
		const body = h('div'),
			shareOf = { hop: 'the work', call: 'its calls' };
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
				h(
					'section',
					{ class: 'panel' },
					h('h3', null, 'Top reasons'),
					CW.hops.reasons(reasons, shareOf[kind] ?? 'all time off CPU', 20)
				),
				h(
					'section',
					{ class: 'panel' },
					h('h3', null, 'Time blocked, by stack'),
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
					'Threads, hop or function',
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
			h(
				'p',
				{ class: 'soft' },
				h('b', null, CW.label.blocked),
				`: ${CW.meaning.blocked}. `,
				h('b', null, CW.label.runq),
				`: ${CW.meaning.runq}. `,
				h('b', null, CW.label.preempted),
				`: ${CW.meaning.preempted}. Over the whole recording.`
			),
			body,
			h(
				'div',
				{ class: 'columns' },
				CW.blocking.others(
					CW.rows('other').filter(o => o.class !== 'run queue' && o.class !== 'preempted'),
					'Who woke blocked threads, of all hops and functions',
					'blocked on'
				),
				CW.blocking.others(
					CW.rows('other').filter(o => o.class === 'run queue' || o.class === 'preempted'),
					'Who ran while threads were ready to run, of all hops and functions',
					'they were'
				)
			)
		);
		draw();
	},
});
