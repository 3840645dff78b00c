/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The answer: what takes the time of chains or calls, and why, in sentences made of facts. Draws nothing; Hops
 * says some of the sentences again, each for its hop.
 */
'use strict';

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
	return [' in ', CW.overview.place(f), caller ? [', called by ', code(caller.function)] : null];
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
	const blocked = all.filter(([k, share]) => CW.overview.stateOf({ class: k }) === CW.label.blocked && share >= 0.03);
	return blocked.length > 1 && reasons[0].share < 0.7
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

/* The state in which a reason has a thread, as in CW.label. */
CW.overview.stateOf = r => (['on CPU', 'run queue', 'preempted', 'unknown'].includes(r.class) ? r.class : CW.label.blocked);

/* "96 % of that it is blocked in FUNCTION: REASON": the state that takes the most of this time, and the first of it. */
CW.overview.mostly = function (reasons, key, id) {
	const states = [...CW.group(reasons, CW.overview.stateOf)]
		.map(([state, rows]) => ({ state, share: rows.reduce((s, r) => s + r.share, 0), top: rows[0] }))
		.sort((a, b) => b.share - a.share);
	const { state, share, top } = states[0],
		words = s => (s === 'run queue' ? 'in the run queue' : s),
		it = `${CW.pct(share)} of that it is ${words(state)}`,
		next = states[1];
	if (state === CW.label.oncpu)
		return next?.share >= 0.1
			? [it, `, ${CW.pct(next.share)} ${words(next.state)}: `, CW.overview.reasonText(next.top), '.']
			: [it, ': its own code is the cost.'];
	return [
		it,
		top.share < 0.9 * share ? `, for ${CW.pct(top.share)}` : '',
		state === CW.label.blocked ? CW.overview.calledFrom(CW.overview.culprit(key, id, top)) : null,
		': ',
		CW.overview.reasonText(top),
		'.',
	];
};

/* Why the work of a hop takes as long as it does. */
CW.overview.work = function (plan) {
	const reasons = CW.rows('hop_reason')
		.filter(r => r.plan_hop === plan)
		.sort((a, b) => b.ns - a.ns);
	const c = CW.rows('composition').find(x => x.plan_hop === plan),
		p = CW.index('plan', 'plan_hop').get(plan);
	if (!reasons.length || !c) return null;
	return [
		'One ',
		code(p.target),
		` takes ${CW.about(c.work / c.ended)} on average. `,
		CW.overview.mostly(reasons, 'plan_hop', plan),
	];
};

/* What those do that take a hop's tasks, where that work is little of what they do. */
CW.overview.elsewhere = function (plan) {
	const p = CW.index('plan', 'plan_hop').get(plan),
		end = CW.rows('clock')[0].end,
		workers = CW.rows('worker').filter(w => w.plan_hop === plan),
		threads = workers.map(w => CW.thread(w.utid)).filter(Boolean),
		sum = key => threads.reduce((s, t) => s + (t[key] ?? 0), 0),
		all = ['running_ns', 'blocked_ns', 'runq_ns', 'preempted_ns', 'unknown_ns'].reduce((s, k) => s + sum(k), 0);
	if (!all) return null;
	const states = [
		['on CPU', sum('running_ns')],
		['blocked', sum('blocked_ns')],
		['in the run queue', sum('runq_ns')],
		['preempted', sum('preempted_ns')],
	].sort((a, b) => b[1] - a[1]);
	const worked = workers.reduce((s, w) => s + (w.work ?? 0), 0) / (end * workers.length);
	return [
		`The ${workers.length === 1 ? 'thread that runs' : `${workers.length} threads that run`} `,
		code(p.target),
		` worked on these tasks for only ${CW.pct(worked)} of the recording. All in all ${workers.length === 1 ? 'it was' : 'they were'} `,
		states
			.filter(x => x[1] / all >= 0.005)
			.map(x => `${CW.pct(x[1] / all)} ${x[0]}`)
			.join(', '),
		'; ',
		h('a', { href: '#/threads' }, 'Threads'),
		' says in what. ',
	];
};

/* What the threads of a hop can do at most, against what they were asked to do. */
CW.overview.capacity = function (d) {
	if (!d.work_average_ns || !d.worker_count) return '';
	const most = (d.worker_count * 1e9) / d.work_average_ns,
		asked = (1e9 * d.submitted) / (d.end_ts - d.ts),
		need = Math.ceil((asked * d.work_average_ns) / 1e9);
	return (
		`At ${CW.about(d.work_average_ns)} a task ` +
		`${d.worker_count === 1 ? 'it' : 'they'} can complete ${CW.rate(most)} a second at most; ` +
		`${CW.rate(asked)} a second were submitted. ` +
		(need > d.worker_count && d.saturated_ns >= 0.1 * (d.end_ts - d.ts)
			? `At ${CW.rate(asked)} submissions a second and ${CW.about(d.work_average_ns)} each, ${CW.num(need)} threads would ` +
				`keep up; it has ${CW.num(d.worker_count)}. `
			: '')
	);
};

CW.overview.queue = function (part) {
	const d = CW.index('diagnosis', 'plan_hop').get(part.plan),
		p = CW.index('plan', 'plan_hop').get(part.plan);
	if (part.n < 20) return [`With ${part.n} tasks there are too few to say why they are queued (20 are needed).`];
	const says = [],
		saturated = d ? d.saturated_ns / (d.end_ts - d.ts) : 0;
	if (saturated < 0.1) says.push(CW.overview.elsewhere(part.plan));
	if (saturated > 0)
		says.push(
			`${d.worker_count === 1 ? 'The one thread that runs' : `All ${d.worker_count} threads that run`} `,
			code(p.target),
			` ${d.worker_count === 1 ? 'was' : 'were'} working, with more tasks queued (up to ${CW.num(d.peak_pending)} at once), for `,
			h('strong', null, `${CW.pct(saturated)} of the recording`),
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
		held = [
			...new Set(
				submitters.flatMap(r =>
					CW.rows('worker')
						.filter(w => w.utid === r.utid)
						.map(w => w.plan_hop)
				)
			),
		].filter(x => x !== plan);
	return [
		full
			? [
					h('strong', null, `The queue of hop ${plan} is bounded and was full: `),
					`up to ${CW.num(d.peak_pending)} tasks were queued, never more, and `,
				]
			: null,
		code(p.source),
		` itself was blocked ${CW.num(b.n)} times, ${CW.about(b.ns)} in all, while submitting`,
		b.by_taker_ns >= b.ns / 2 ? [', until a thread that runs ', code(p.target), ' woke it'] : null,
		held.length
			? [
					'; this holds up the threads that run ',
					held.map((x, i) => [i ? ', ' : '', code(CW.index('plan', 'plan_hop').get(x)?.target)]),
					', too',
				]
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
		? h(
				'p',
				{ class: 'full' },
				own,
				own && others.length ? ' ' : null,
				others.length ? [h('strong', null, 'Also full: '), others, '.'] : null
			)
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
		return [
			h(
				'p',
				null,
				s.chains
					? `None of the ${CW.num(s.chains)} chains is what the report’s filters ask for.`
					: 'No chain was completed: no submission of the plan’s first hop reached its last target.'
			),
		];
	const top = parts[0],
		sums = CW.rows('composition'),
		queued = sums.reduce((x, c) => x + c.queue, 0),
		all = queued + sums.reduce((x, c) => x + (c.work ?? 0), 0);
	const out = [
		h(
			'p',
			null,
			t?.n && t.n < s.selected
				? `Of ${CW.num(s.selected)} chains ${CW.num(t.n)} ended within the recording; they take ${CW.about(t.avg)} on average. `
				: `An average chain takes ${CW.about(t?.avg)}. `,
			h('strong', null, `${CW.pct(top.ns / all)} of that`),
			`, ${CW.about(top.ns / top.n)}${top.n < (t?.n ?? s.selected) ? ' each time' : ''}, `,
			top.part === 'queue'
				? ['it is ', h('strong', null, CW.overview.partText(top))]
				: h('strong', null, code(CW.index('plan', 'plan_hop').get(top.plan).target), ` ${CW.overview.is[top.part]}`),
			` (hop ${top.plan}).`
		),
		CW.overview.define(),
		h(
			'p',
			null,
			top.part === 'queue' ? CW.overview.queue(top) : null,
			/* Where a queue takes all the time, and nobody works for long, work explains nothing. */
			top.part !== 'queue' || top.c.work / top.c.ended >= 0.05 * (top.ns / top.n) ? CW.overview.work(top.plan) : null
		),
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
			f.calls === 1 ? ' was called once and took ' : ` was called ${CW.num(f.calls)} times and took `,
			h('strong', null, CW.about(f.avg)),
			f.calls === 1 ? '.' : ` on average, ${CW.about(f.max)} at most.`
		),
	];
	if (reasons.length) out.push(h('p', null, CW.overview.mostly(reasons, 'probe', f.probe)));
	out.push(reasons.length ? CW.overview.classes(reasons, 'Its time') : null);
	return out;
};

/* Who submits the tasks of a hop, and in which function most of those in the page were submitted. */
CW.overview.submitters = function (plan) {
	const rows = CW.rows('submitter').filter(r => r.plan_hop === plan),
		source = CW.index('plan', 'plan_hop').get(plan)?.source,
		callers = new Map();
	if (!rows.length) return null;
	for (const x of CW.rows('hop')) {
		if (x.plan !== plan || x.src_stack === null) continue;
		const caller = CW.overview.own(x.src_stack).find(f => f.function !== source)?.function;
		if (caller) callers.set(caller, (callers.get(caller) ?? 0) + 1);
	}
	const [most] = [...callers].sort((a, b) => b[1] - a[1]);
	return [
		'; submitted by ',
		rows.length === 1 ? CW.threadName(rows[0].utid) : `${CW.num(rows.length)} threads`,
		most ? [callers.size > 1 ? ', mostly in ' : ', in ', code(most[0])] : null,
	];
};
