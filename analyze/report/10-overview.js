/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Overview: the answer in sentences made of facts, then what was recorded and what is in doubt. */
'use strict';

CW.overview = {
	evidence: {
		auto: 'matched by scanning arguments',
		ambiguous: 'had more than one candidate',
		loss: 'have lost records in between',
		'capture edge': 'touch an edge of the capture',
	},
};

/* Parts of all chosen chains' time: one row a hop and part, the largest first. */
CW.overview.parts = function () {
	const parts = [];
	for (const c of CW.rows('composition')) {
		parts.push({ plan: c.plan_hop, part: 'queue', ns: c.queue, n: c.n, c });
		for (const s of CW.stateNames) if (c[s] !== null) parts.push({ plan: c.plan_hop, part: s, ns: c[s], n: c.ended, c });
		if (c.oncpu === null) parts.push({ plan: c.plan_hop, part: 'work', ns: c.work, n: c.ended, c });
	}
	return parts.sort((a, b) => b.ns - a.ns);
};

/* The stack under which a hop or function slept longest, without the C library's own frames. */
CW.overview.culprit = function (key, value, reason) {
	const rows = CW.rows('offcpu').filter(o => o[key] === value && (!reason || o.class === reason.class));
	const top = rows.sort((a, b) => b.ns - a.ns)[0];
	if (!top || top.stack === null) return null;
	const own = CW.overview.own(top.stack);
	return own.length ? { frames: own, share: top.ns / rows.reduce((s, r) => s + r.ns, 0) } : null;
};

CW.overview.calledFrom = function (culprit) {
	if (!culprit) return null;
	const [f, caller] = culprit.frames;
	return [
		'; it waits in ',
		code(f.function),
		f.file ? ` (${f.file.split('/').pop()}:${f.line})` : '',
		caller ? [' called by ', code(caller.function)] : null,
	];
};

CW.overview.reasonText = function (r) {
	const who = r.other_utid !== null ? CW.threadName(r.other_utid) : null;
	if (r.class === 'run queue' || r.class === 'preempted') return [code(r.reason)];
	return [
		code(r.reason),
		who && r.class !== 'on CPU'
			? [', ended by ', r.others > 1 ? `${r.others} threads, for the most time by ` : '', code(who), CW.overview.wakerIn(r)]
			: null,
	];
};

/* In which function the thread that ended most of these waits was. */
CW.overview.wakerIn = function (r) {
	const w = CW.rows('waker_stack').find(x => x.class === r.class && x.reason === r.reason && x.utid === r.other_utid);
	const own = w && w.stack !== null ? CW.overview.own(w.stack)[0] : null;
	return own ? [' in ', code(own.function), own.file ? ` (${own.file.split('/').pop()}:${own.line})` : ''] : null;
};

/* Frames that are not the C library's. */
CW.overview.own = stack =>
	CW.frames(stack).filter(
		f =>
			f.function &&
			!/^(libc|libpthread|ld-linux|\[vdso|\[kernel)/.test(f.module ?? '') &&
			!['_start', 'start_thread', 'clone3'].includes(f.function)
	);

/* Shares by class, where no single reason tells enough. */
CW.overview.classes = function (reasons) {
	const all = [...CW.group(reasons, r => r.class)]
		.map(([k, rs]) => [k, rs.reduce((s, r) => s + r.share, 0)])
		.sort((a, b) => b[1] - a[1]);
	return all.length > 1 && reasons[0].share < 0.7
		? h(
				'p',
				null,
				'By kind: ',
				all
					.filter(x => x[1] >= 0.03)
					.slice(0, 6)
					.map(x => `${x[0]} ${CW.pct(x[1])}`)
					.join(', '),
				'.'
			)
		: null;
};

/* Why the work of a hop takes as long as it does. */
CW.overview.work = function (plan) {
	const reasons = CW.rows('hop_reason')
		.filter(r => r.plan_hop === plan)
		.sort((a, b) => b.ns - a.ns);
	const c = CW.rows('composition').find(x => x.plan_hop === plan),
		p = CW.index('plan', 'plan_hop').get(plan);
	if (!reasons.length || !c) return null;
	const r = reasons[0];
	if (r.class === 'on CPU')
		return [
			'One ',
			code(p.target),
			` takes ${CW.about(c.work / c.ended)} on average, ${CW.pct(r.share)} of it on the CPU: its own code is the cost.`,
		];
	return [
		'One ',
		code(p.target),
		` takes ${CW.about(c.work / c.ended)} on average, ${CW.pct(r.share)} of it waiting: `,
		CW.overview.reasonText(r),
		CW.overview.calledFrom(CW.overview.culprit('plan_hop', plan, r)),
		'.',
	];
};

/* What the threads of a hop can do at most, against what they were asked to do. */
CW.overview.capacity = function (d) {
	if (!d.work_average_ns || !d.worker_count) return '';
	const most = (d.worker_count * 1e9) / d.work_average_ns,
		asked = (1e9 * d.submitted) / (d.end_ts - d.ts);
	return (
		`At ${CW.about(d.work_average_ns)} each, ` +
		`${d.worker_count === 1 ? 'it can do' : 'they can do'} ${CW.rate(most)} a second at most; ` +
		`${CW.rate(asked)} a second were handed over, on average. `
	);
};

CW.overview.queue = function (part) {
	const d = CW.index('diagnosis', 'plan_hop').get(part.plan),
		p = CW.index('plan', 'plan_hop').get(part.plan);
	if (part.n < 20) return [`With ${part.n} handoffs there are too few to say why they wait (20 are needed).`];
	const says = [];
	if (d && d.saturated_ns > 0)
		says.push(
			`${d.worker_count === 1 ? 'The one thread that runs' : `All ${d.worker_count} threads that run`} `,
			code(p.target),
			` ${d.worker_count === 1 ? 'was' : 'were'} busy, with more work waiting, for ${CW.about(d.saturated_ns)}`,
			` (${CW.pct(d.saturated_ns / (d.end_ts - d.ts))} of the recording); up to ${CW.num(d.peak_pending)} waited at once. `,
			CW.overview.capacity(d)
		);
	return says;
};

CW.overview.answerChains = function () {
	const parts = CW.overview.parts(),
		t = CW.rows('total')[0],
		s = CW.rows('selection')[0];
	if (!parts.length || !s.selected)
		return [h('p', null, 'No chain was completed: no submission of the plan’s first hop reached its last target.')];
	const top = parts[0],
		all = CW.rows('composition').reduce((x, c) => x + c.queue + (c.work ?? 0), 0);
	const p = CW.index('plan', 'plan_hop').get(top.plan),
		share = top.ns / all,
		mean = top.ns / top.n;
	const out = [];
	const where =
		top.part === 'queue'
			? ['waiting between ', code(p.source), ' and ', code(p.target)]
			: [code(p.target), ` ${CW.label[top.part] ?? 'at work'}`];
	out.push(
		h(
			'p',
			null,
			h('strong', null, CW.pct(share)),
			' of all the time in these chains is ',
			where,
			`: ${CW.about(mean)} of ${CW.about(t?.avg)} on average.`
		)
	);
	if (top.part === 'queue') {
		const q = CW.overview.queue(top),
			w = CW.overview.work(top.plan);
		out.push(h('p', null, q, w));
	} else {
		out.push(h('p', null, CW.overview.work(top.plan)));
	}
	out.push(
		CW.overview.classes(
			CW.rows('hop_reason')
				.filter(r => r.plan_hop === top.plan)
				.sort((a, b) => b.ns - a.ns)
		)
	);
	const next = parts.slice(1, 3).filter(x => x.ns / all >= 0.1);
	if (next.length)
		out.push(
			h(
				'p',
				{ class: 'soft' },
				'Then: ',
				next.map((x, i) => {
					const q = CW.index('plan', 'plan_hop').get(x.plan);
					return [
						i ? '; ' : '',
						x.part === 'queue'
							? ['waiting for ', code(q.target)]
							: [code(q.target), ' ', CW.label[x.part] ?? 'at work'],
						` ${CW.pct(x.ns / all)}`,
					];
				}),
				'.'
			)
		);
	return out;
};

CW.overview.answerCalls = function () {
	const fs = CW.rows('function')
		.filter(f => f.sum !== null)
		.sort((a, b) => b.sum - a.sum);
	if (!fs.length) return [h('p', null, 'No call with a known duration was recorded.')];
	const f = fs[0],
		reasons = CW.rows('function_reason')
			.filter(r => r.probe_id === f.probe)
			.sort((a, b) => b.ns - a.ns);
	const out = [
		h(
			'p',
			null,
			code(CW.probeName(f.probe)),
			` was called ${CW.num(f.calls)} times and took `,
			h('strong', null, CW.about(f.avg)),
			` on average, ${CW.about(f.max)} at most.`
		),
	];
	if (reasons.length && reasons[0].class === 'on CPU')
		out.push(h('p', null, `${CW.pct(reasons[0].share)} of that was on the CPU.`));
	else if (reasons.length)
		out.push(
			h(
				'p',
				null,
				`${CW.pct(reasons[0].share)} of that was waiting: `,
				CW.overview.reasonText(reasons[0]),
				CW.overview.calledFrom(CW.overview.culprit('probe', f.probe, reasons[0])),
				'.'
			)
		);
	out.push(reasons.length ? CW.overview.classes(reasons) : null);
	return out;
};

CW.overview.cards = function (async) {
	const clock = CW.rows('clock')[0],
		s = CW.rows('selection')[0];
	const t = async
		? CW.rows('total')[0]
		: CW.rows('function')
				.slice()
				.sort((a, b) => (b.sum ?? 0) - (a.sum ?? 0))[0];
	const n = async ? s.selected : (t?.calls ?? 0);
	const card = (value, name) => h('div', { class: 'card' }, h('b', null, value), h('span', null, name));
	const name = async ? 'chains' : 'calls';
	return h(
		'div',
		{ class: 'cards' },
		card(CW.num(n), name),
		card(`${((1e9 * n) / clock.end).toFixed(1)} /s`, `${name} a second`),
		card(CW.ns(t?.avg), 'average'),
		card(CW.ns(t?.p50), 'P50'),
		card(CW.percentile(t?.p95, t?.n ?? 0, 20), 'P95'),
		card(CW.percentile(t?.p99, t?.n ?? 0, 100), 'P99'),
		card(CW.ns(t?.max), 'maximum')
	);
};

CW.overview.composition = function () {
	const rows = CW.rows('composition').map(c => {
		const parts = [{ name: 'queue', class: 'queue', ns: c.queue }];
		for (const s of CW.stateNames) parts.push({ name: CW.label[s], class: s, ns: c[s] });
		if (c.oncpu === null) parts.push({ name: 'work', class: 'unknown', ns: c.work });
		return { c, parts, total: c.queue + (c.work ?? 0) };
	});
	const longest = Math.max(1, ...rows.map(r => r.total / r.c.n));
	return h(
		'section',
		{ class: 'panel' },
		h('h3', null, 'Where the time of one chain goes, hop by hop, on average'),
		rows.map(r =>
			h(
				'div',
				{ style: { margin: '8px 0' } },
				h(
					'div',
					null,
					`${r.c.plan_hop} `,
					code(CW.hopName(r.c.plan_hop)),
					h('span', { class: 'soft' }, ` queue ${CW.about(r.c.queue / r.c.n)}, work ${CW.about(r.c.work / r.c.ended)}`)
				),
				h('div', { style: { width: Math.max(2, (100 * r.total) / r.c.n / longest) + '%' } }, CW.mix(r.parts, true))
			)
		),
		CW.legend()
	);
};

CW.overview.slowest = function () {
	const rows = CW.rows('chain')
		.slice()
		.sort((a, b) => a.rank - b.rank)
		.slice(0, 10);
	if (!rows.length) return null;
	return h(
		'section',
		{ class: 'panel' },
		h('h3', null, 'Slowest chains'),
		CW.table(
			[
				{ title: 'chain', cell: r => h('a', { href: '#/chains/' + r.chain }, '#' + r.chain) },
				{ title: 'total', n: true, cell: r => CW.ns(CW.chains.total(r)) },
				{ title: 'where', cell: r => CW.mix(CW.chains.parts(r)) },
				{ title: 'largest part', cell: r => CW.chains.dominant(r).text },
				{ title: 'evidence', cell: r => CW.chains.evidence(r) },
			],
			rows
		)
	);
};

CW.overview.slowestCalls = function () {
	const rows = CW.rows('call')
		.filter(c => c.dur !== null)
		.sort((a, b) => b.dur - a.dur)
		.slice(0, 10);
	if (!rows.length) return null;
	return h(
		'section',
		{ class: 'panel' },
		h('h3', null, 'Slowest calls'),
		CW.table(
			[
				{ title: 'function', cell: r => h('a', { href: '#/functions/' + r.slice }, code(CW.probeName(r.probe))) },
				{ title: 'took', n: true, cell: r => CW.ns(r.dur) },
				{ title: 'where', cell: r => CW.mix(CW.stateNames.map(s => ({ class: s, name: CW.label[s], ns: r[s] }))) },
				{ title: 'thread', cell: r => CW.threadName(r.utid) },
				{ title: 'returned', cell: r => code(r.ret ?? r.no_return ?? '') },
			],
			rows
		)
	);
};

CW.overview.doubts = function () {
	const out = [],
		anomalies = CW.rows('anomaly'),
		losses = CW.rows('loss'),
		evidence = CW.rows('evidence');
	if (losses.length)
		out.push(
			h(
				'p',
				{ class: 'warn' },
				'Records are missing: ',
				losses.map((l, i) => [
					i ? '; ' : '',
					l.count === null ? 'an unknown number of' : CW.num(l.count),
					' ',
					l.kind === '*' ? 'records' : code(l.kind),
					` (${l.reason})`,
					` between ${CW.about(l.ts)} and ${CW.about(l.end)} after the start`,
				]),
				'. Numbers that this touches are flagged.'
			)
		);
	else out.push(h('p', null, 'Nothing was lost: every event the kernel saw is in the capture.'));
	const exact = evidence.filter(e => e.evidence === 'exact').reduce((s, e) => s + e.n, 0);
	const all = evidence.reduce((s, e) => s + e.n, 0);
	if (all)
		out.push(
			h(
				'p',
				null,
				`${CW.num(exact)} of ${CW.num(all)} handoffs are exact (one open submission had this key)`,
				evidence
					.filter(e => e.evidence !== 'exact')
					.map(
						e =>
							`; of hop ${e.plan_hop} ${CW.num(e.n)} ${e.evidence
								.split('+')
								.map(x => CW.overview.evidence[x] ?? x)
								.join(' and ')}`
					),
				'.'
			)
		);
	if (anomalies.length)
		out.push(
			CW.table(
				[
					{ title: 'in doubt, in the whole capture', cell: a => a.what },
					{ title: 'where', cell: a => code(a.at) },
					{ title: 'count', n: true, cell: a => (a.count === null ? 'unknown' : CW.num(a.count)) },
				],
				anomalies
			)
		);
	else out.push(h('p', null, 'No anomaly: no reused key, no call without a return, no target without a submission.'));
	return h('section', { class: 'panel' }, h('h3', null, 'What is lost or in doubt'), out);
};

CW.overview.capture = function () {
	const clock = CW.rows('clock')[0],
		mods = CW.rows('module').filter(m => m.unnamed > 0);
	return h(
		'section',
		{ class: 'panel' },
		h('h3', null, 'What was recorded'),
		CW.facts([
			[
				'host',
				[code(CW.info('host') ?? 'unknown'), ` ${(CW.info('kernel') ?? '').split(' ')[0]} ${CW.info('arch') ?? ''}`],
			],
			[
				'began',
				`${CW.wall(0)} (UTC${clock.utc_offset_s ? (clock.utc_offset_s > 0 ? '+' : '−') + Math.abs(clock.utc_offset_s / 3600) : ''})`,
			],
			['lasted', [CW.ns(clock.end), CW.info('end_text') ? `; ${CW.info('end_text')}` : '']],
			['command', code(CW.info('cmdline') ?? 'unknown')],
			[
				'events',
				[
					CW.num(CW.info('events')),
					': ',
					CW.rows('info')
						.filter(r => r.key.startsWith('events.') && Number(r.value) > 0)
						.sort((a, b) => b.value - a.value)
						.map(r => `${CW.num(r.value)} ${r.key.slice(7)}`)
						.join(', '),
				],
			],
			[
				'clean end',
				CW.info('clean_end') === '0' ? h('span', { class: 'warn' }, 'no: its last moments may be missing') : 'yes',
			],
			[
				'functions',
				CW.rows('probe').map((p, i) => [
					i ? ', ' : '',
					code(p.function),
					p.single_stepped ? ' (slow probe)' : '',
					p.no_frame_pointers ? ' (no frame pointers: stacks end at the caller)' : '',
				]),
			],
			[
				'without names',
				mods.length
					? mods.map((m, i) => [
							i ? '; ' : '',
							code(m.path),
							` ${CW.num(m.unnamed)} of ${CW.num(m.frames)} addresses`,
							m.tried ? ` (${m.tried})` : '',
						])
					: 'no module',
			],
			[
				'plan',
				CW.info('plan')
					? h(
							'details',
							null,
							h('summary', null, 'as YAML'),
							h(
								'pre',
								{ class: 'mono', style: { whiteSpace: 'pre-wrap' } },
								CW.info('plan').replaceAll('\\x0a', '\n')
							)
						)
					: null,
			],
		])
	);
};

CW.tab({
	id: 'overview',
	title: 'Overview',
	order: 10,
	render(root) {
		const async = CW.count('plan') > 0;
		CW.add(root, [
			h('section', { class: 'panel answer', id: 'answer' }, async ? CW.overview.answerChains() : CW.overview.answerCalls()),
			CW.overview.cards(async),
			async ? CW.overview.composition() : null,
			async ? CW.overview.slowest() : CW.overview.slowestCalls(),
			h('div', { class: 'columns' }, CW.overview.doubts(), CW.overview.capture()),
		]);
	},
});
