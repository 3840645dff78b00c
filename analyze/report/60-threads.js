/* SPDX-License-Identifier: GPL-2.0-only */
/* Tab Threads: every recorded thread and its states over time. The example of a tab: one file, one view. */
'use strict';

/* One row of pixels a thread, each the state that fills most of it. */
CW.threadStrip = function (canvas, utid, end) {
	const ratio = devicePixelRatio || 1,
		width = Math.max(1, Math.round(canvas.clientWidth * ratio)),
		height = Math.round(16 * ratio);
	const style = getComputedStyle(document.documentElement),
		colours = Object.fromEntries(CW.stateNames.map(s => [s, style.getPropertyValue('--' + s)]));
	canvas.width = width;
	canvas.height = height;
	const g = canvas.getContext('2d'),
		sums = Array.from({ length: width }, () => null);
	for (const s of CW.states(utid, 0, end)) {
		const a = (Math.max(0, s.ts) / end) * width,
			b = (Math.min(end, s.ts + s.dur) / end) * width;
		for (let i = Math.floor(a); i < Math.min(width, Math.ceil(b)); i++) {
			sums[i] ??= {};
			sums[i][s.state] = (sums[i][s.state] ?? 0) + Math.min(b, i + 1) - Math.max(a, i);
		}
	}
	sums.forEach((sum, i) => {
		if (!sum) return;
		g.fillStyle = colours[Object.entries(sum).sort((x, y) => y[1] - x[1])[0][0]];
		g.fillRect(i, 0, 1, height);
	});
};

CW.tab({
	id: 'threads',
	title: 'Threads',
	order: 60,
	when: () => CW.count('state') > 0,
	render(root) {
		const end = CW.rows('clock')[0].end,
			s = CW.rows('selection')[0];
		const rows = CW.rows('thread')
			.filter(t => t.traced)
			.sort((a, b) => (b.running_ns ?? 0) - (a.running_ns ?? 0));
		root.append(
			h(
				'p',
				{ class: 'soft' },
				`${CW.num(rows.length)} traced threads over ${CW.ns(end)}, those most on a CPU first; ` +
					`each pixel shows the state that fills most of it. Times are exact.`,
				s.episodes_shown < s.episodes
					? ` This file holds the states around the chains it shows, ` +
							`${CW.num(s.episodes_shown)} of ${CW.num(s.episodes)} waits: the rest of a strip is empty.`
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
							cell: t => [CW.threadName(t.utid), h('div', { class: 'soft' }, `${t.process ?? ''} ${t.pid ?? ''}`)],
							sort: t => CW.threadName(t.utid),
						},
						{
							title: 'states over the recording',
							cell: t => {
								const canvas = h('canvas', {
									style: { width: '100%', height: '16px', display: 'block', minWidth: '420px' },
									role: 'img',
									'aria-label': `States of ${CW.threadName(t.utid)}`,
								});
								requestAnimationFrame(() => canvas.isConnected && CW.threadStrip(canvas, t.utid, end));
								return CW.tip(canvas, () =>
									CW.facts([
										['lived', `${CW.about(t.start)} to ${t.end === null ? 'the end' : CW.about(t.end)}`],
										...CW.stateNames.map(k => [
											CW.label[k],
											CW.ns(t[k === 'oncpu' ? 'running_ns' : k + '_ns']),
										]),
									])
								);
							},
						},
						{ title: 'on CPU', n: true, cell: t => CW.ns(t.running_ns), sort: t => t.running_ns },
						{ title: 'blocked', n: true, cell: t => CW.ns(t.blocked_ns), sort: t => t.blocked_ns },
						{ title: 'run queue', n: true, cell: t => CW.ns(t.runq_ns), sort: t => t.runq_ns },
						{ title: 'preempted', n: true, cell: t => CW.ns(t.preempted_ns), sort: t => t.preempted_ns },
					],
					rows.slice(0, 300)
				),
				rows.length > 300 ? h('p', { class: 'soft' }, `and ${CW.num(rows.length - 300)} more`) : null
			)
		);
	},
});
