/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Overview: the answer in sentences made of facts, then what was recorded and what is in doubt. */
'use strict';

CW.overview = {
	evidence: {
		exact: 'are exact: one open submission had their key',
		auto: 'were found by looking for the key in all arguments',
		ambiguous: 'had more than one candidate',
		loss: 'have lost records in between',
		'capture edge': 'touch an edge of the capture',
	},
	is: {
		oncpu: 'is on CPU',
		blocked: 'is blocked',
		runq: 'is in the run queue',
		preempted: 'is preempted',
		unknown: 'is in an unknown state',
		work: 'works',
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

/* The stack under which a hop or function was blocked for the longest, without the C library's own frames. */
CW.overview.culprit = function (key, value, reason) {
	const rows = CW.rows('offcpu').filter(o => o[key] === value && (!reason || o.class === reason.class));
	const top = rows.sort((a, b) => b.ns - a.ns)[0];
	if (!top || top.stack === null) return null;
	const own = CW.overview.own(top.stack);
	return own.length ? { frames: own, share: top.ns / rows.reduce((s, r) => s + r.ns, 0) } : null;
};

CW.overview.place = f => [code(f.function), f.file ? ` (${f.file.split('/').pop()}:${f.line})` : ''];

CW.overview.calledFrom = function (culprit) {
	if (!culprit) return null;
	const [f, caller] = culprit.frames;
	return ['; blocked in ', CW.overview.place(f), caller ? [', called by ', code(caller.function)] : null];
};

CW.overview.reasonText = function (r) {
	const who = r.other_utid !== null ? CW.threadName(r.other_utid) : null;
	if (r.class === 'run queue' || r.class === 'preempted') return [code(r.reason)];
	return [
		code(r.reason),
		who && r.class !== 'on CPU'
			? [', woken by ', r.others > 1 ? `${r.others} threads, mostly by ` : '', code(who), CW.overview.wakerIn(r)]
			: null,
	];
};

/* In which function the thread was that woke most of these. */
CW.overview.wakerIn = function (r) {
	const w = CW.rows('waker_stack').find(x => x.class === r.class && x.reason === r.reason && x.utid === r.other_utid);
	const own = w && w.stack !== null ? CW.overview.own(w.stack)[0] : null;
	return own ? [' in ', CW.overview.place(own)] : null;
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
CW.overview.classes = function (reasons, of) {
	const all = [...CW.group(reasons, r => r.class)]
		.map(([k, rs]) => [k, rs.reduce((s, r) => s + r.share, 0)])
		.sort((a, b) => b[1] - a[1]);
	return all.length > 1 && reasons[0].share < 0.7
		? h(
				'p',
				null,
				of,
				' by kind: ',
				all
					.filter(x => x[1] >= 0.03)
					.slice(0, 6)
					.map(x => `${CW.pct(x[1])} ${x[0]}`)
					.join(', '),
				'.'
			)
		: null;
};

/* What a reason of another class than "on CPU" is to the thread. */
CW.overview.stateOf = r => (['run queue', 'preempted', 'unknown'].includes(r.class) ? `${r.class}: ` : 'blocked: ');

/* Why the work of a hop takes as long as it does. */
CW.overview.work = function (plan) {
	const reasons = CW.rows('hop_reason')
		.filter(r => r.plan_hop === plan)
		.sort((a, b) => b.ns - a.ns);
	const c = CW.rows('composition').find(x => x.plan_hop === plan),
		p = CW.index('plan', 'plan_hop').get(plan);
	if (!reasons.length || !c) return null;
	const r = reasons[0];
	const takes = ['One ', code(p.target), ` takes ${CW.about(c.work / c.ended)} on average. ${CW.pct(r.share)} of that it is `];
	if (r.class === 'on CPU') return [takes, 'on CPU: its own code is the cost.'];
	return [
		takes,
		CW.overview.stateOf(r),
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
		`At ${CW.about(d.work_average_ns)} a task ` +
		`${d.worker_count === 1 ? 'it' : 'they'} can complete ${CW.rate(most)} a second at most; ` +
		`${CW.rate(asked)} a second were submitted. `
	);
};

CW.overview.queue = function (part) {
	const d = CW.index('diagnosis', 'plan_hop').get(part.plan),
		p = CW.index('plan', 'plan_hop').get(part.plan);
	if (part.n < 20) return [`With ${part.n} tasks there are too few to say why they are queued (20 are needed).`];
	const says = [];
	if (d && d.saturated_ns > 0)
		says.push(
			`${d.worker_count === 1 ? 'The one thread that runs' : `All ${d.worker_count} threads that run`} `,
			code(p.target),
			` ${d.worker_count === 1 ? 'was' : 'were'} working, with more tasks queued (up to ${CW.num(d.peak_pending)} at once), for `,
			h('strong', null, `${CW.pct(d.saturated_ns / (d.end_ts - d.ts))} of the recording`),
			'. ',
			CW.overview.capacity(d)
		);
	return says;
};

/*
 * A queue has no place for more where submitting itself is blocked until a thread that takes from it wakes the
 * submitter, and where the number queued was near its peak for long.
 */
CW.overview.isFull = function (plan) {
	const b = CW.index('submit_block', 'plan_hop').get(plan),
		d = CW.index('diagnosis', 'plan_hop').get(plan),
		slots = CW.rows('queue').filter(q => q.plan_hop === plan);
	return (
		b !== undefined &&
		d !== undefined &&
		b.ns >= 0.01 * d.queue_total_ns &&
		b.by_taker_ns >= b.ns / 2 &&
		slots.filter(q => q.pending >= 0.8 * d.peak_pending).length >= 0.2 * slots.length
	);
};

/* Where submitting itself was blocked, and that the queue was full where that is so. */
CW.overview.full = function (plan) {
	const b = CW.index('submit_block', 'plan_hop').get(plan),
		d = CW.index('diagnosis', 'plan_hop').get(plan),
		p = CW.index('plan', 'plan_hop').get(plan),
		full = CW.overview.isFull(plan);
	if (!b || !d || b.ns < 0.01 * d.queue_total_ns) return null;
	const submitters = CW.rows('submitter').filter(r => r.plan_hop === plan),
		held = [...new Set(submitters.flatMap(r => CW.rows('worker').filter(w => w.utid === r.utid).map(w => w.plan_hop)))].filter(
			x => x !== plan
		);
	return [
		full ? [h('strong', null, 'Its queue is bounded and was full: '), `up to ${CW.num(d.peak_pending)} tasks were queued, never more, and `] : null,
		code(p.source),
		` itself was blocked ${CW.num(b.n)} times, ${CW.about(b.ns)} in all`,
		b.by_taker_ns >= b.ns / 2 ? [', until a thread that runs ', code(p.target), ' woke it'] : null,
		held.length
			? ['; this holds up the threads that run ', held.map((x, i) => [i ? ', ' : '', code(CW.index('plan', 'plan_hop').get(x)?.target)]), ', too']
			: null,
		'. A task counts as queued from that call on.',
	];
};

/* The same of all hops, the one that takes most time first, the others in short. */
CW.overview.allFull = function (first) {
	const others = [];
	for (const { plan_hop: plan } of CW.rows('plan')) {
		const b = CW.index('submit_block', 'plan_hop').get(plan);
		if (plan !== first && CW.overview.isFull(plan))
			others.push([
				others.length ? '; ' : '',
				`the queue of hop ${plan} (`,
				code(CW.index('plan', 'plan_hop').get(plan).source),
				` itself blocked ${CW.num(b.n)} times, ${CW.about(b.ns)} in all)`,
			]);
	}
	const own = CW.overview.full(first);
	return own || others.length
		? h('p', { class: 'full' }, own, own && others.length ? ' ' : null, others.length ? [h('strong', null, 'Also full: '), others, '.'] : null)
		: null;
};

/* A part of the time of chains in words. */
CW.overview.partText = function (x) {
	const p = CW.index('plan', 'plan_hop').get(x.plan);
	return x.part === 'queue'
		? ['queued between ', code(p.source), ' and ', code(p.target)]
		: x.part === 'work'
			? ['work of ', code(p.target)]
			: [code(p.target), ` ${CW.label[x.part]}`];
};

CW.overview.define = function () {
	const p = CW.rows('plan')[0];
	return h(
		'p',
		{ class: 'soft', id: 'define' },
		h('b', null, 'Chain'),
		': one request on its way from thread to thread. ',
		h('b', null, 'Hop'),
		': one step of it: a thread submits a task (calls ',
		code(p.source),
		'), which is ',
		CW.term('queue'),
		' until a thread takes it; then it is ',
		CW.term('work'),
		' (of ',
		code(p.target),
		').'
	);
};

CW.overview.answerChains = function () {
	const parts = CW.overview.parts(),
		t = CW.rows('total')[0],
		s = CW.rows('selection')[0];
	if (!parts.length || !s.selected)
		return [h('p', null, 'No chain was completed: no submission of the plan’s first hop reached its last target.')];
	const top = parts[0],
		sums = CW.rows('composition'),
		queued = sums.reduce((x, c) => x + c.queue, 0),
		all = queued + sums.reduce((x, c) => x + (c.work ?? 0), 0);
	const out = [
		h(
			'p',
			null,
			`An average chain takes ${CW.about(t?.avg)}. `,
			h('strong', null, `${CW.pct(top.ns / all)} of that`),
			`, ${CW.about(top.ns / top.n)}${top.n < s.selected ? ' each time' : ''}, `,
			top.part === 'queue'
				? ['it is ', h('strong', null, CW.overview.partText(top))]
				: h('strong', null, code(CW.index('plan', 'plan_hop').get(top.plan).target), ` ${CW.overview.is[top.part]}`),
			` (hop ${top.plan}).`
		),
		CW.overview.define(),
		h('p', null, top.part === 'queue' ? CW.overview.queue(top) : null, CW.overview.work(top.plan)),
		CW.overview.classes(
			CW.rows('hop_reason')
				.filter(r => r.plan_hop === top.plan)
				.sort((a, b) => b.ns - a.ns),
			['The work of ', code(CW.index('plan', 'plan_hop').get(top.plan).target)]
		),
	];
	out.push(CW.overview.allFull(top.plan));
	const next = parts.slice(1, 3).filter(x => x.ns / all >= 0.1);
	if (next.length)
		out.push(
			h(
				'p',
				{ class: 'soft' },
				'Next largest parts of an average chain: ',
				next.map((x, i) => [i ? '; ' : '', CW.pct(x.ns / all), ' ', CW.overview.partText(x)]),
				'. ',
				sums.length > 1 ? `All hops together: ${CW.pct(queued / all)} queued, ${CW.pct(1 - queued / all)} work.` : null
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
		out.push(h('p', null, `${CW.pct(reasons[0].share)} of that it is on CPU: its own code is the cost.`));
	else if (reasons.length)
		out.push(
			h(
				'p',
				null,
				`${CW.pct(reasons[0].share)} of that it is `,
				CW.overview.stateOf(reasons[0]),
				CW.overview.reasonText(reasons[0]),
				CW.overview.calledFrom(CW.overview.culprit('probe', f.probe, reasons[0])),
				'.'
			)
		);
	out.push(reasons.length ? CW.overview.classes(reasons, 'Its time') : null);
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
		const parts = [{ name: CW.label.queue, class: 'queue', ns: c.queue }];
		for (const s of CW.stateNames) parts.push({ name: CW.label[s], class: s, ns: c[s] });
		if (c.oncpu === null) parts.push({ name: 'work', class: 'unknown', ns: c.work });
		return { c, parts, total: c.queue + (c.work ?? 0) };
	});
	const longest = Math.max(1, ...rows.map(r => r.total / r.c.n));
	return h(
		'section',
		{ class: 'panel' },
		h('h3', null, 'Where the time of an average chain goes, hop by hop'),
		rows.map(r =>
			h(
				'div',
				{ style: { margin: '8px 0' } },
				h(
					'div',
					null,
					`hop ${r.c.plan_hop} `,
					code(CW.hopName(r.c.plan_hop)),
					h(
						'span',
						{ class: 'soft' },
						` queued ${CW.about(r.c.queue / r.c.n)}, work ${CW.about(r.c.work / r.c.ended)}, ` +
							`by ${CW.num(r.c.threads)} thread${r.c.threads === 1 ? '' : 's'}`
					)
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
				{ title: 'largest part', wide: true, cell: r => CW.chains.dominant(r).text },
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
				{ title: 'function', wide: true, cell: r => h('a', { href: '#/functions/' + r.slice }, code(CW.probeName(r.probe))) },
				{ title: 'took', n: true, cell: r => CW.ns(r.dur) },
				{ title: 'where', cell: r => CW.mix(CW.stateNames.map(s => ({ class: s, name: CW.label[s], ns: r[s] }))) },
				{ title: 'thread', wide: true, cell: r => CW.threadName(r.utid) },
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
	const all = evidence.reduce((s, e) => s + e.n, 0);
	if (all)
		out.push(
			h(
				'p',
				null,
				'Of ',
				CW.num(all),
				' hops: ',
				[...CW.group(evidence, e => e.evidence)].map(([how, rows], i) => [
					i ? '; ' : '',
					CW.num(rows.reduce((s, e) => s + e.n, 0)),
					' ',
					how
						.split('+')
						.map(x => CW.overview.evidence[x] ?? x)
						.join(' and '),
					how === 'exact' ? '' : ` (hop ${rows.map(e => e.plan_hop).sort().join(', ')})`,
				]),
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
