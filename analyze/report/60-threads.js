/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Threads: every recorded thread and its states over time. The example of a tab: one file, one view. */
'use strict';

/* The states of a thread within each of n parts of the recording, as {state: ns}; null where none is known. */
CW.threadParts = function (utid, end, n) {
	const sums = Array.from({ length: n }, () => null);
	for (const s of CW.states(utid, 0, end)) {
		const a = (Math.max(0, s.ts) / end) * n,
			b = (Math.min(end, s.ts + s.dur) / end) * n;
		for (let i = Math.floor(a); i < Math.min(n, Math.ceil(b)); i++) {
			sums[i] ??= {};
			sums[i][s.state] = (sums[i][s.state] ?? 0) + ((Math.min(b, i + 1) - Math.max(a, i)) * end) / n;
		}
	}
	return sums;
};

/* One row of pixels a thread, each the state that fills most of it. */
CW.threadStrip = function (canvas, utid, end) {
	const ratio = devicePixelRatio || 1,
		width = Math.max(1, Math.round(canvas.clientWidth * ratio)),
		height = Math.round(16 * ratio);
	const style = getComputedStyle(document.documentElement),
		colours = Object.fromEntries(CW.stateNames.map(s => [s, style.getPropertyValue('--' + s)]));
	canvas.width = width;
	canvas.height = height;
	const g = canvas.getContext('2d');
	CW.threadParts(utid, end, width).forEach((sum, i) => {
		if (!sum) return;
		g.fillStyle = colours[Object.entries(sum).sort((x, y) => y[1] - x[1])[0][0]];
		g.fillRect(i, 0, 1, height);
	});
};

/* What is at a moment of a thread: its state with reason and waker, and the chain that it works for. */
CW.threadMoment = function (utid, t) {
	const s = CW.states(utid, t, t + 1)[0],
		hop = CW.rows('hop').find(x => x.dst === utid && x.start <= t && (x.end ?? x.start) > t);
	return { s, hop };
};

/* On what a thread was blocked for the longest: the innermost function of its own program, else the reason. */
CW.threadBlocks = function (t) {
	const sums = new Map();
	for (const b of CW.rows('thread_block').filter(x => x.utid === t.utid)) {
		const own = b.stack === null ? [] : CW.overview.own(b.stack);
		const key = own.length ? `${own[0].function} ${own[1]?.function ?? ''}` : b.reason;
		const sum = sums.get(key) ?? { ns: 0, own, reason: b.reason, class: b.class };
		sum.ns += b.ns;
		sums.set(key, sum);
	}
	return [...sums.values()].sort((a, b) => b.ns - a.ns).slice(0, 2);
};

CW.threadBlocked = t =>
	h(
		'div',
		{ class: 'blocked-in' },
		CW.threadBlocks(t).map((b, i) => [
			i ? '; ' : null,
			CW.about(b.ns),
			' in ',
			b.own.length
				? [code(b.own[0].function), b.own[1] ? [', called by ', code(b.own[1].function)] : null]
				: code(b.reason),
		])
	);

CW.threadStripCell = function (t, end) {
	const canvas = h('canvas', {
		class: 'strip',
		role: 'img',
		'aria-label': `States of ${CW.threadName(t.utid)}: ${CW.stateNames
			.filter(k => t[k === 'oncpu' ? 'running_ns' : k + '_ns'] > 0)
			.map(k => `${CW.label[k]} ${CW.about(t[k === 'oncpu' ? 'running_ns' : k + '_ns'])}`)
			.join(', ')}`,
	});
	requestAnimationFrame(() => canvas.isConnected && CW.threadStrip(canvas, t.utid, end));
	new ResizeObserver(() => canvas.isConnected && CW.threadStrip(canvas, t.utid, end)).observe(canvas);
	const moment = e => {
		const box = canvas.getBoundingClientRect();
		return Math.max(0, Math.min(end - 1, ((e.clientX - box.left) / box.width) * end));
	};
	canvas.addEventListener('pointermove', e => {
		const at = moment(e),
			{ s, hop } = CW.threadMoment(t.utid, at);
		CW.showTip(e.clientX, e.clientY, [
			CW.facts([
				['at', `${CW.about(at)} after the start`],
				['state', s ? `${CW.label[s.state]} for ${CW.ns(s.dur)}` : 'not known, or the thread was not there'],
				['why', s ? CW.reasonOf(s) : null],
				['woken by', s ? CW.wakerText(s) : null],
				['works for', hop ? `chain #${hop.chain}, hop ${hop.plan}; a click opens it` : null],
			]),
		]);
	});
	canvas.addEventListener('pointerleave', () => {
		document.getElementById('tip').hidden = true;
	});
	canvas.addEventListener('click', e => {
		const { hop } = CW.threadMoment(t.utid, moment(e));
		if (hop) CW.go('#/chains/' + hop.chain);
	});
	return canvas;
};

CW.tab({
	id: 'threads',
	title: 'Threads',
	order: 60,
	when: () => CW.count('state') > 0,
	render(root) {
		const end = CW.rows('clock')[0].end,
			s = CW.rows('selection')[0],
			async = CW.count('plan') > 0;
		const worked = new Map();
		for (const r of CW.rows('worker')) worked.set(r.utid, (worked.get(r.utid) ?? 0) + (r.work ?? 0));
		const rows = CW.rows('thread')
			.filter(t => t.traced)
			.sort((a, b) => (worked.get(b.utid) ?? 0) - (worked.get(a.utid) ?? 0) || (b.running_ns ?? 0) - (a.running_ns ?? 0));
		const busy = rows.filter(t => worked.get(t.utid) > 0.9 * end).length,
			lived = t => Math.max(1, (t.end ?? end) - Math.max(0, t.start ?? 0));
		root.append(
			h(
				'p',
				null,
				`${CW.num(rows.length)} traced threads in ${CW.about(end)}`,
				async
					? `; ${busy ? CW.num(busy) : 'none'} of them worked on tasks for more than 90 % of it. Those with the most work come first.`
					: '; those most on CPU come first.'
			),
			h(
				'p',
				{ class: 'soft' },
				'Each pixel of a strip shows the state that fills most of it; pointing at it tells which, why, and who woke the thread',
				async ? '; a click opens the chain it works for then.' : '.',
				' Times and shares are exact, over the whole recording.',
				s.episodes_shown < s.episodes
					? ` This file holds the states around the chains it shows, ` +
							`${CW.num(s.episodes_shown)} of ${CW.num(s.episodes)} times off CPU: the rest of a strip is empty.`
					: ''
			),
			CW.legend(CW.stateNames),
			h(
				'div',
				{ class: 'panel' },
				CW.table(
					[
						{
							title: 'thread',
							wide: true,
							cell: t => [
								CW.threadName(t.utid),
								h('div', null, CW.role(t.utid)),
								h(
									'div',
									{ class: 'soft' },
									CW.roleFunctions(t.utid).join(', ') || `process ${t.process ?? ''} ${t.pid ?? ''}`
								),
							],
							sort: t => CW.threadName(t.utid),
						},
						{
							title: `states from the start to ${CW.about(end)}, and what it was blocked in for the longest`,
							cell: t => [CW.threadStripCell(t, end), CW.threadBlocked(t)],
						},
						...(async
							? [
									{
										title: 'work',
										n: true,
										cell: t => (worked.has(t.utid) ? CW.pct(worked.get(t.utid) / end) : '–'),
										sort: t => worked.get(t.utid) ?? 0,
									},
								]
							: []),
						...['running_ns', 'blocked_ns', 'runq_ns', 'preempted_ns'].map(k => ({
							title: CW.label[k === 'running_ns' ? 'oncpu' : k.slice(0, -3)],
							n: true,
							cell: t => [
								CW.about(t[k]),
								t[k] / lived(t) >= 0.0005 ? h('div', { class: 'soft' }, CW.pct(t[k] / lived(t))) : null,
							],
							sort: t => t[k],
						})),
					],
					rows.slice(0, 300)
				),
				rows.length > 300 ? h('p', { class: 'soft' }, `and ${CW.num(rows.length - 300)} more`) : null
			)
		);
	},
});
