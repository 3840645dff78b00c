/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Hops: how long tasks are queued and worked on, how each queue grew, how busy its threads were. */
'use strict';

CW.hops = {};

/* Ticks of a logarithmic axis that are round: 1, 2 and 5 times powers of ten, or the powers alone. */
CW.hops.logTicks = function (lo, hi) {
	const out = [];
	for (let power = 10 ** Math.floor(Math.log10(Math.max(1, lo))); power <= hi; power *= 10)
		for (const m of hi / lo > 300 ? [1] : [1, 2, 5]) if (m * power >= lo && m * power <= hi) out.push(m * power);
	return out;
};

/* what: what is counted. Bins are a quarter of an octave wide, so the axis is logarithmic. */
CW.hops.histogram = function (rows, cls, n, what = 'samples') {
	if (!rows.length) return h('p', { class: 'soft' }, 'no sample');
	const sorted = rows.slice().sort((a, b) => a.lo - b.lo),
		ratio = 2 ** 0.25,
		bars = [];
	for (let i = 0, lo = sorted[0].lo; i < sorted.length; i++) {
		/* Empty bins between two full ones keep the axis true. */
		const gap = i && sorted[i - 1].lo > 0 ? Math.round(Math.log(sorted[i].lo / sorted[i - 1].lo) / Math.log(ratio)) - 1 : 0;
		for (let k = 0; k < Math.min(gap, 60); k++) bars.push({ lo: Math.round(lo * ratio ** (k + 1)), n: 0 });
		lo = sorted[i].lo;
		bars.push(sorted[i]);
	}
	/* A few bins alone would be blocks: show the empty ones beside them. */
	for (let i = 0; bars.length < 24 && bars[0].lo > 4; i++)
		if (i % 2) bars.unshift({ lo: Math.round(bars[0].lo / ratio), n: 0 });
		else bars.push({ lo: Math.round(bars.at(-1).lo * ratio), n: 0 });
	const most = Math.max(...bars.map(b => b.n)),
		first = Math.max(1, bars[0].lo),
		last = bars.at(-1).lo * ratio,
		fullest = bars.find(b => b.n === most);
	/* Where a time lies along the axis: bins are equally wide, gaps that were cut make the ends only right. */
	const place = t => {
		let i = bars.length - 1;
		while (i > 0 && bars[i].lo > t) i--;
		return (100 * (i + Math.min(1, Math.log(t / Math.max(1, bars[i].lo)) / Math.log(ratio)))) / bars.length;
	};
	let right = -9;
	const ticks = CW.hops.logTicks(first, last).filter(t => {
		const at = place(t),
			fits = at - right >= 15 && at >= 6 && at <= 92;
		if (fits) right = at;
		return fits;
	});
	return h(
		'div',
		{ class: 'histogram' },
		h(
			'div',
			{ class: 'soft' },
			`${CW.num(n)} ${what}; the tallest bar is ${CW.num(most)}, ${CW.about(fullest.lo)} to ${CW.about(fullest.lo * ratio)}`
		),
		h(
			'div',
			{ class: 'hist', role: 'img', 'aria-label': `${n} ${what} between ${CW.about(bars[0].lo)} and ${CW.about(last)}` },
			bars.map(b =>
				CW.tip(h('i', { class: 'c-' + cls, style: { height: b.n ? Math.max(2, (100 * b.n) / most) + '%' : '0' } }), () =>
					h('div', null, `${CW.num(b.n)} of ${CW.num(n)} took ${CW.about(b.lo)} to ${CW.about(b.lo * ratio)}`)
				)
			)
		),
		h(
			'div',
			{ class: 'hist-ticks' },
			ticks.map(t => {
				const [div, unit] = CW.unit(t);
				return h('span', { style: { left: place(t) + '%' } }, `${+(t / div).toFixed(3)} ${unit}`);
			})
		)
	);
};

CW.hops.latency = function (plan) {
	const rows = CW.rows('latency').filter(l => l.plan_hop === plan);
	return h(
		'div',
		null,
		CW.table(
			[
				{ title: '', cell: r => CW.label[r.part] },
				{ title: 'n', n: true, cell: r => CW.num(r.n) },
				{ title: 'average', n: true, cell: r => CW.ns(r.avg) },
				{ title: 'P50', n: true, cell: r => CW.ns(r.p50) },
				{ title: 'P95', n: true, cell: r => CW.percentile(r.p95, r.n, 20) },
				{ title: 'P99', n: true, cell: r => CW.percentile(r.p99, r.n, 100) },
				{ title: 'maximum', n: true, cell: r => CW.ns(r.max) },
			],
			rows,
			{ class: 'latency' }
		),
		rows.some(r => r.n < 100)
			? h('p', { class: 'soft' }, 'P95 is shown from 20 samples on, P99 from 100: of fewer they are hidden.')
			: null,
		h(
			'div',
			{ class: 'columns' },
			['queue', 'work'].map(part =>
				h(
					'div',
					null,
					h('h4', null, part === 'queue' ? 'Time queued' : 'Time of work'),
					CW.hops.histogram(
						CW.rows('histogram').filter(r => r.plan_hop === plan && r.part === part),
						part === 'queue' ? 'queue' : 'work',
						rows.find(r => r.part === part)?.n ?? 0,
						'tasks'
					)
				)
			)
		)
	);
};

/* Round values from 0 to most for an axis that has room for four. */
CW.hops.ticks = function (most) {
	const power = 10 ** Math.floor(Math.log10(most / 3)),
		step = Math.max(1, power * [1, 2, 5, 10].find(m => m * power >= most / 3));
	return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
};

/*
 * Steps of a value over the recording; what it was at most in each of 240 slots. A rate is over twelve of them, as few
 * tasks are completed in one.
 */
CW.hops.overTime = function (plan) {
	const rows = CW.rows('queue').filter(q => q.plan_hop === plan),
		SLOTS = 241,
		end = CW.rows('clock')[0].end;
	const lines = [
		{ key: 'pending', title: 'tasks queued', cls: 'queue', after: 'pending_after' },
		{ key: 'active', title: 'threads working', cls: 'work', after: 'active_after' },
		{ key: 'done', title: `tasks completed a second, in steps of ${CW.about(end / 20)}`, cls: 'unknown' },
	];
	const width = 1180,
		height = 78,
		bySlot = new Map(rows.map(r => [r.slot, r]));
	return lines
		.map(l => {
			const values = [],
				bin = i => Math.floor(Math.min(i, SLOTS - 2) / 12),
				rates = new Array(20).fill(0);
			if (!l.after) for (const r of rows) rates[bin(r.slot)] += r[l.key] / (end / 20 / 1e9);
			for (let i = 0, held = 0; i < SLOTS; i++) {
				const r = bySlot.get(i);
				values.push(l.after ? (r ? Math.max(held, r[l.key]) : held) : rates[bin(i)]);
				if (r && l.after) held = r[l.after];
			}
			const most = Math.max(1, ...values),
				x = i => (i / SLOTS) * width,
				y = v => height - 2 - (v / most) * (height - 18);
			let d = `M0 ${height}`;
			values.forEach((v, i) => {
				d += `L${x(i).toFixed(1)} ${y(v).toFixed(1)}L${x(i + 1).toFixed(1)} ${y(v).toFixed(1)}`;
			});
			const el = svg(
				'svg',
				{
					viewBox: `0 0 ${width} ${height}`,
					width: '100%',
					height,
					preserveAspectRatio: 'none',
					role: 'img',
					'aria-label': `${l.title}: at most ${Math.round(most)}`,
				},
				CW.hops.ticks(most).map(t => svg('line', { x1: 0, x2: width, y1: y(t), y2: y(t), class: 'grid' })),
				svg('path', { d: d + `L${width} ${height}Z`, class: 'c-' + l.cls, opacity: 0.75 })
			);
			CW.tip(el, () => '');
			el.addEventListener('pointermove', e => {
				const box = el.getBoundingClientRect(),
					i = Math.max(0, Math.min(SLOTS - 1, Math.floor(((e.clientX - box.left) / box.width) * SLOTS)));
				document.getElementById('tip').textContent =
					`${CW.about((i * end) / 240)} after the start: ${l.title} ${CW.num(Math.round(values[i]))}`;
			});
			return h(
				'div',
				{ class: 'over-time' },
				h('div', { class: 'soft' }, `${l.title}, at most ${CW.num(Math.round(most))}`),
				h(
					'div',
					{ class: 'y-ticks', style: { height: height + 'px' } },
					CW.hops.ticks(most).map(t => h('span', { style: { top: y(t) + 'px' } }, CW.num(t)))
				),
				h('div', { class: 'plot' }, el)
			);
		})
		.concat(
			h(
				'div',
				{ class: 'hist-axis over-axis' },
				h('span', null, 'start of the recording'),
				[0.25, 0.5, 0.75].map(x => h('span', null, CW.about(x * end))),
				h('span', null, CW.about(end))
			)
		);
};

/* Other hops to which the threads of this one submit. */
CW.hops.next = function (plan) {
	const workers = new Set(
		CW.rows('worker')
			.filter(w => w.plan_hop === plan)
			.map(w => w.utid)
	);
	return CW.rows('plan').filter(
		p => p.plan_hop !== plan && CW.rows('submitter').some(r => r.plan_hop === p.plan_hop && workers.has(r.utid))
	);
};

/* Where the threads of this hop submit the next one, and that queue was full. */
CW.hops.heldUp = function (plan) {
	const by = CW.hops.next(plan).filter(p => CW.overview.isFull(p.plan_hop));
	return by.length
		? by.map(p => {
				const b = CW.index('submit_block', 'plan_hop').get(p.plan_hop);
				return [
					h('strong', null, `Held up by hop ${p.plan_hop}’s full queue: `),
					'its threads submit to that, and ',
					code(p.source),
					` was blocked ${CW.num(b.n)} times, ${CW.about(b.ns)} in all; a thread blocked there takes no other task. `,
				];
			})
		: null;
};

/* That a target's call lasts longer than its work, as that ends where it submits the next task. */
CW.hops.untilReturn = function (plan) {
	const p = CW.index('plan', 'plan_hop').get(plan),
		probe = CW.rows('probe').find(x => x.function === p?.target),
		f = probe && CW.rows('function').find(x => x.probe === probe.probe_id),
		d = CW.index('diagnosis', 'plan_hop').get(plan);
	return f?.avg && d?.work_average_ns && f.avg > 1.01 * d.work_average_ns && CW.hops.next(plan).length
		? h(
				'p',
				{ class: 'soft' },
				'Work of ',
				code(p.target),
				` ends where it submits the next task, ${CW.about(d.work_average_ns)} on average; until it returns it takes `,
				`${CW.about(f.avg)}. Hops, chains and the overview show the work, Functions the whole call.`
			)
		: null;
};

CW.hops.diagnosis = function (plan) {
	const d = CW.index('diagnosis', 'plan_hop').get(plan),
		c = CW.rows('composition').find(x => x.plan_hop === plan);
	if (!d) return null;
	const b = CW.index('submit_block', 'plan_hop').get(plan);
	const waits = c ? Math.max(1, c.queue / c.n) : 1,
		works = c ? Math.max(1, c.work / Math.max(1, c.ended)) : 1;
	const times = x => `${x >= 10 ? CW.num(Math.round(x)) : x.toFixed(1)} times`;
	const recording = CW.pct(d.saturated_ns / (d.end_ts - d.ts));
	const said = {
		backlog:
			`the queue grows: ${d.early_pending?.toFixed(1)} tasks queued on average in the first third of the submissions, ` +
			`${d.late_pending?.toFixed(1)} in the last`,
		saturation: `for ${recording} of the recording all its ${d.worker_count} threads had a task (in work, or being handed on) and more were queued`,
		'lock contention': `for ${CW.pct(d.futex_ratio)} of the work its threads are blocked on locks`,
		none: 'the queue does not grow, its threads are not all working for long, and locks cost little',
	};
	const full = CW.overview.full(plan),
		held = CW.hops.heldUp(plan);
	return h(
		'div',
		null,
		h(
			'p',
			null,
			h('strong', null, d.diagnosis === 'none' ? 'Nothing conspicuous' : d.diagnosis.replaceAll('+', ', ')),
			': ',
			d.diagnosis
				.split('+')
				.map(x => said[x] ?? x)
				.join('; '),
			'.'
		),
		full ? h('p', { class: 'full' }, full) : null,
		held ? h('p', { class: 'full' }, held) : null,
		c
			? h(
					'p',
					{ class: c.ended < 20 ? 'soft' : null },
					c.ended < 20
						? `Queued against work is not judged with ${c.ended} completed samples: 20 are needed.`
						: waits <= works
							? `A task is worked on ${times(works / waits)} as long as it is queued: its work counts, not the queue.`
							: [
									`A task is queued ${times(waits / works)} as long as it is worked on`,
									d.saturated_ns / (d.end_ts - d.ts) >= 0.1
										? held
											? ': first see to the hop that holds it up, more threads here would only fill its queue sooner.'
											: ': more threads or less work a task would shorten it.'
										: ['. ', CW.overview.elsewhere(plan)],
								]
				)
			: null,
		CW.facts([
			['submitted', `${CW.num(d.submitted)} (${d.submit_rate.toFixed(1)} a second)`],
			['taken', CW.num(d.started)],
			['completed', `${CW.num(d.completed)} (${d.complete_rate.toFixed(1)} a second)`],
			['queued at once', `${CW.num(d.peak_pending)} at most, ${CW.num(d.pending)} at the end`],
			[
				'working at once',
				`${CW.num(d.peak_active)} of ${CW.num(d.worker_count)} threads at most, ${CW.num(d.active)} at the end`,
			],
			['blocked on locks while working', `${CW.num(d.futex_waits)} times, ${CW.about(d.futex_wait_ns)} in all`],
			[
				'blocked while submitting',
				b ? [`${CW.num(b.n)} times, ${CW.about(b.ns)} in all, in `, code(d.source)] : ['never, in ', code(d.source)],
			],
			[
				'in doubt',
				[
					['duplicate keys', d.duplicate_keys],
					['superseded', d.superseded],
					['expired', d.expired],
					['targets without submission', d.unmatched_targets],
					['next hop not submitted', d.no_handoff],
					['records lost', d.dropped],
				]
					.filter(x => x[1])
					.map(x => `${x[0]} ${CW.num(x[1])}`)
					.join(', ') || 'nothing',
			],
		])
	);
};

CW.hops.workers = function (plan) {
	const rows = CW.rows('worker').filter(x => x.plan_hop === plan),
		end = CW.rows('clock')[0].end;
	return CW.table(
		[
			{ title: 'thread', wide: true, cell: r => CW.threadCell(r.utid), sort: r => CW.threadName(r.utid) },
			{ title: 'tasks taken', n: true, cell: r => CW.num(r.started), sort: r => r.started },
			{ title: 'work that ended', n: true, cell: r => CW.ns(r.work), sort: r => r.work },
			{ title: 'of the recording', n: true, cell: r => CW.pct(r.work / end), sort: r => r.work },
			{
				title: '',
				cell: r =>
					h(
						'div',
						{ class: 'mix', style: { width: '180px' } },
						h('i', { class: 'c-work', style: { width: (100 * r.work) / end + '%' } })
					),
			},
			{ title: 'longest task', n: true, cell: r => CW.ns(r.longest), sort: r => r.longest },
		],
		rows.slice(0, 200)
	);
};

/* of: what the shares are of. */
CW.hops.reasons = function (rows, of, limit = 12) {
	const sorted = rows.slice().sort((a, b) => b.ns - a.ns),
		small = sorted.filter((r, i) => i > 0 && r.share < 0.001),
		shown = (small.length > 1 ? sorted.filter(r => !small.includes(r)) : sorted).slice(0, limit);
	const table = CW.table(
		[
			{ title: `of ${of}`, n: true, cell: r => CW.pct(r.share) },
			{ title: 'time', n: true, cell: r => CW.ns(r.ns), sort: r => r.ns },
			{ title: 'times', n: true, cell: r => CW.num(r.count), sort: r => r.count },
			{
				title: 'kind',
				nowrap: true,
				cell: r => [h('i', { class: 'dot c-' + CW.classColour(r.class) }), r.class],
				sort: r => r.class,
			},
			{ title: 'what', wide: true, cell: r => code(r.reason), sort: r => r.reason },
			{
				title: 'woken by',
				wide: rows.some(r => r.other_utid !== null),
				cell: r =>
					r.class === 'run queue' || r.class === 'preempted' || r.other_utid === null
						? ''
						: [CW.threadName(r.other_utid), CW.overview.wakerIn(r), r.others > 1 ? ` and ${r.others - 1} more` : ''],
			},
		],
		shown
	);
	return small.length > 1 ? [table, h('p', { class: 'soft' }, `and ${CW.num(small.length)} more below 0.1 %`)] : table;
};

CW.classColour = c => ({ 'on CPU': 'oncpu', 'run queue': 'runq', preempted: 'preempted', unknown: 'unknown' })[c] ?? 'blocked';

CW.tab({
	id: 'hops',
	title: 'Hops',
	order: 30,
	when: () => CW.count('plan') > 0,
	render(root) {
		const plans = CW.rows('plan');
		root.append(h('p', { class: 'soft' }, 'A ', CW.term('hop'), ` is ${CW.meaning.hop}.`));
		if (plans.length > 2)
			root.append(
				h(
					'p',
					null,
					'Hops: ',
					plans.map((p, i) => [
						i ? ', ' : '',
						h(
							'button',
							{ type: 'button', onclick: () => document.getElementById('hop-' + p.plan_hop).scrollIntoView() },
							`${p.plan_hop} ${CW.hopName(p.plan_hop)}`
						),
					])
				)
			);
		for (const p of plans)
			root.append(
				h(
					'section',
					{ class: 'panel', id: 'hop-' + p.plan_hop },
					h('h2', null, `Hop ${p.plan_hop} `, code(CW.hopName(p.plan_hop))),
					CW.hops.diagnosis(p.plan_hop),
					CW.hops.untilReturn(p.plan_hop),
					h('h3', null, CW.count('filter') ? 'Latency of the chosen chains' : 'Latency of all chains'),
					CW.hops.latency(p.plan_hop),
					h('h3', null, 'Tasks queued, threads working and throughput over the whole recording'),
					CW.hops.overTime(p.plan_hop),
					h('h3', null, 'Where the time of its work goes'),
					CW.hops.reasons(
						CW.rows('hop_reason').filter(r => r.plan_hop === p.plan_hop),
						'the work'
					),
					h('h3', null, 'Threads that take its tasks'),
					CW.hops.workers(p.plan_hop)
				)
			);
	},
});
