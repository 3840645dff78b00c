/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Overview: the answer (11-answer.js), figures, the slowest, then what was recorded and what is in doubt. */
'use strict';

CW.overview = {
	evidence: {
		exact: 'are exact: one open submission had their key',
		auto: 'were found by looking for the key in all arguments',
		ambiguous: 'had more than one candidate',
		loss: 'have lost records in between',
		'capture edge': 'touch an edge of the recording',
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

CW.overview.cards = function (async) {
	const clock = CW.rows('clock')[0],
		s = CW.rows('selection')[0];
	const t = async
		? CW.rows('total')[0]
		: CW.rows('function')
				.slice()
				.sort((a, b) => (b.sum ?? 0) - (a.sum ?? 0))[0];
	const n = async ? s.selected : (t?.calls ?? 0),
		open = async ? n - (t?.n ?? 0) : 0;
	const card = (value, name) => h('div', { class: 'card' }, h('b', null, value), h('span', null, name));
	const name = async ? 'chains' : 'calls';
	return h(
		'div',
		{ class: 'cards' },
		card(CW.num(n), open ? `${name}, ${CW.num(open)} of them with no end recorded` : name),
		card(`${((1e9 * n) / clock.end).toFixed(1)} /s`, `${name} a second of the recording`),
		card(CW.ns(t?.avg), open ? `average of the ${CW.num(t?.n ?? 0)} that ended` : 'average'),
		card(CW.ns(t?.p50), 'P50'),
		card(CW.percentile(t?.p95, t?.n ?? 0, 20), 'P95'),
		card(CW.percentile(t?.p99, t?.n ?? 0, 100), 'P99'),
		card(CW.ns(t?.max), 'maximum')
	);
};

/* That more tasks were submitted than chains are counted: those were on their way at the end. */
CW.overview.notThrough = function (chains) {
	const first = CW.rows('plan').filter(p => !CW.rows('plan').some(q => CW.hops.next(q.plan_hop).includes(p))),
		d = first.length === 1 ? CW.index('diagnosis', 'plan_hop').get(first[0].plan_hop) : null;
	return d && d.submitted > chains && CW.rows('selection')[0].chains === chains
		? `: ${CW.num(d.submitted)} were submitted to hop ${d.plan_hop}, of which ` +
				`${CW.num(d.submitted - chains)} had not reached the last hop by the end of the recording`
		: '';
};

CW.overview.composition = function () {
	const rows = CW.rows('composition').map(c => {
		const parts = [{ name: CW.label.queue, class: 'queue', ns: c.queue }];
		for (const s of CW.stateNames) parts.push({ name: CW.label[s], class: s, ns: c[s] });
		if (c.oncpu === null) parts.push({ name: 'work', class: 'unknown', ns: c.work });
		return { c, parts, total: c.queue + (c.work ?? 0) };
	});
	if (!rows.length) return null;
	const longest = Math.max(1, ...rows.map(r => r.total / r.c.n)),
		t = CW.rows('total')[0],
		n = CW.rows('selection')[0].selected;
	return h(
		'section',
		{ class: 'panel' },
		h('h3', null, 'Where the time of an average chain goes, hop by hop'),
		t?.n && t.n < n
			? h(
					'p',
					{ class: 'soft' },
					`Averages of the ${CW.num(t.n)} chains that ended; `,
					h('a', { href: '#/hops' }, 'Hops'),
					' has those of all tasks',
					CW.overview.notThrough(n),
					'.'
				)
			: null,
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
							`by ${CW.num(r.c.threads)} thread${r.c.threads === 1 ? '' : 's'}`,
						CW.overview.submitters(r.c.plan_hop)
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
				{ title: 'parts', cell: r => CW.mix(CW.chains.parts(r)) },
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
				{
					title: 'function',
					wide: true,
					cell: r => h('a', { href: '#/functions/' + r.slice }, code(CW.probeName(r.probe))),
				},
				{ title: 'took', n: true, cell: r => CW.ns(r.dur) },
				{ title: 'parts', cell: r => CW.mix(CW.stateNames.map(s => ({ class: s, name: CW.label[s], ns: r[s] }))) },
				{ title: 'thread', wide: true, cell: r => CW.threadName(r.utid) },
				{ title: 'returned', cell: r => code(r.ret ?? r.no_return ?? '') },
			],
			rows
		)
	);
};

/* The words of SQL's anomalies where others are plainer. */
CW.overview.doubt = what =>
	({
		'submissions open at the end': 'submitted, not yet taken when the recording ended',
		'chains in doubt: capture edge': 'chains that had not ended when the recording did, or began before it',
		'calls without a return: capture end': 'calls that had not returned when the recording ended',
	})[what] ?? what.replace('capture edge', 'an edge of the recording');

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
	const all = evidence.reduce((s, e) => s + e.n, 0),
		open = CW.rows('selection')[0].selected - (CW.rows('total')[0]?.n ?? 0);
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
					how === 'exact'
						? ''
						: ` (hop ${rows
								.map(e => e.plan_hop)
								.sort()
								.join(', ')})`,
				]),
				'. ',
				open
					? `Of ${CW.num(open)} chain${open === 1 ? '' : 's'} no end is recorded, ` +
							'as where the recording ended first: no average has that time.'
					: null
			)
		);
	if (anomalies.length)
		out.push(
			CW.table(
				[
					{ title: 'in doubt, in the whole capture', cell: a => CW.overview.doubt(a.what) },
					{ title: 'where', cell: a => code(a.at) },
					{ title: 'count', n: true, cell: a => (a.count === null ? 'unknown' : CW.num(a.count)) },
				],
				anomalies
			)
		);
	else out.push(h('p', null, 'No anomaly: no reused key, no call without a return, no target without a submission.'));
	return h('section', { class: 'panel' }, h('h3', null, 'What is lost or in doubt'), out);
};

CW.overview.withoutFramePointers = function () {
	const all = CW.rows('probe'),
		those = all.filter(p => p.no_frame_pointers);
	if (!those.length) return null;
	return h(
		'div',
		{ class: 'soft' },
		those.length === all.length ? 'all' : those.map((p, i) => [i ? ', ' : '', code(p.function)]),
		' without frame pointers: stacks end at the caller'
	);
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
				[
					CW.rows('probe').map((p, i) => [i ? ', ' : '', code(p.function), p.single_stepped ? ' (slow probe)' : '']),
					CW.overview.withoutFramePointers(),
				],
			],
			[
				'without names',
				mods.length
					? mods.map(m => [
							h('div', null, code(m.path), ` ${CW.num(m.unnamed)} of ${CW.num(m.frames)} addresses`),
							m.tried ? h('details', null, h('summary', null, 'what was tried'), m.tried) : null,
						])
					: 'none: every address has a name',
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
