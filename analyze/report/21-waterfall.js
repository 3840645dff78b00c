/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The selected chain on one true time axis: a lane a thread, with its work for this chain, the states it really
 * was in and the calls it made for others; between the lanes of who submits and who takes one of the queue, as
 * a queued task is in no thread. 22-details.js says what is clicked.
 */
'use strict';

CW.lane = { label: 4, phase: 20, phaseH: 14, state: 38, stateH: 17, call: 58, callH: 7, height: 70, queueHeight: 40 };

/* A call that belongs to no chain is drawn as a chain of one hop without a queue, which has a name. */
CW.callAsChain = call => ({
	start: call.ts,
	end: call.ts + (call.dur ?? 0),
	hops: [
		{
			i: 0,
			name: CW.probeName(call.probe),
			submit: call.ts,
			start: call.ts,
			end: call.dur === null ? null : call.ts + call.dur,
			src: call.utid,
			dst: call.utid,
			dst_slice: call.slice,
			dst_stack: call.stack,
			...Object.fromEntries(CW.stateNames.map(s => [s, call[s]])),
		},
	],
});
CW.hopsOf = c => (Array.isArray(c.hops) ? c.hops : CW.chains.hops(c.chain));
CW.target = hop => hop.name ?? CW.index('plan', 'plan_hop').get(hop.plan)?.target ?? 'unknown';

/*
 * Threads of a chain in the order in which they appear, each with what it does there, and the queues between
 * them; then the threads that woke those. What is queued is drawn in its own lane, but kept with its taker, too.
 */
CW.lanesOf = function (c) {
	const hops = CW.hopsOf(c),
		lanes = [],
		add = utid => {
			let lane = lanes.find(l => l.utid === utid);
			if (!lane) lanes.push((lane = { utid, does: [], segments: [], queues: [] }));
			return lane;
		};
	for (const x of hops) {
		if (!x.name) {
			add(x.src).does.push(`submits hop ${x.plan}`);
			lanes.push({ utid: undefined, hop: x, does: [], segments: [], queues: [{ lo: x.submit, hi: x.start, hop: x }] });
		}
		const lane = add(x.dst);
		lane.does.push(x.name ? `runs ${CW.target(x)}` : `takes hop ${x.plan}`);
		if (!x.name) lane.queues.push({ lo: x.submit, hi: x.start, hop: x });
		lane.segments.push({ lo: x.start, hi: x.end ?? x.start, hop: x });
	}
	const ended = new Map();
	for (const lane of lanes)
		for (const seg of lane.segments)
			for (const s of CW.states(lane.utid, seg.lo, seg.hi)) {
				const w = s.state === 'blocked' ? CW.wakerOf(s) : null;
				if (w && w.utid !== null && CW.thread(w.utid)?.traced && !lanes.some(l => l.utid === w.utid))
					ended.set(w.utid, (ended.get(w.utid) ?? 0) + s.dur);
			}
	for (const [utid] of [...ended].sort((a, b) => b[1] - a[1]).slice(0, 4)) add(utid).wakes = true;
	return lanes;
};

CW.laneName = function (lane) {
	if (lane.hop) {
		const p = CW.index('plan', 'plan_hop').get(lane.hop.plan);
		return [
			h('i', { class: 'c-queue' }),
			h('b', null, `queue of hop ${lane.hop.plan}`),
			h('div', { class: 'soft' }, `${p?.source} → ${p?.target}`),
		];
	}
	const t = CW.thread(lane.utid);
	return [
		h('b', null, CW.threadName(lane.utid)),
		h('div', null, lane.wakes ? 'wakes a thread above' : lane.does.join(', ')),
		t?.process && t.tid !== t.pid ? h('div', { class: 'soft' }, `process ${t.process} ${t.pid ?? ''}`) : null,
	];
};

/* Ticks at 1, 2 or 5 times a power of ten. */
CW.ticks = function (lo, hi, count) {
	const raw = (hi - lo) / Math.max(1, count),
		power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map(m => m * power).find(x => x >= raw),
		out = [];
	for (let t = Math.ceil(lo / step) * step; t <= hi; t += step) out.push(Math.round(t));
	const [div, unit] = CW.unit(step);
	return out.map(t => ({ t, text: `${+(t / div).toFixed(3)} ${unit}` }));
};

CW.textWidth = function (text) {
	CW.measure ??= Object.assign(document.createElement('canvas').getContext('2d'), {
		font: '11.5px ' + getComputedStyle(document.body).fontFamily,
	});
	return CW.measure.measureText(text).width;
};

/* Labels of a lane, each where it fits: its words, else its number, else none. */
CW.drawLabels = function (g, wishes, view, y) {
	const taken = [];
	for (const w of wishes.sort((a, b) => a.rank - b.rank)) {
		if (w.hi < view.lo || w.lo > view.hi) continue;
		for (const text of [w.text, w.short]) {
			const width = CW.textWidth(text) + 4,
				x = Math.max(2, Math.min(view.width - width - 2, view.x(w.lo) + 6));
			if (width > view.width - 4 || taken.some(t => x < t[1] + 6 && x + width + 6 > t[0])) continue;
			taken.push([x, x + width]);
			g.append(svg('text', { x, y, class: w.soft ? 'soft lane-label' : 'lane-label' }, text));
			break;
		}
	}
};

CW.waterfallDraw = function (w) {
	const L = CW.lane,
		view = { ...w.view, width: w.svg.clientWidth };
	view.x = t => ((t - view.lo) / (view.hi - view.lo)) * view.width;
	w.scale = view;
	const grid = svg('g'),
		bars = svg('g'),
		arrows = svg('g', { 'pointer-events': 'none' }),
		hits = svg('g'),
		labels = svg('g', { 'pointer-events': 'none' }),
		bottom = w.tops.at(-1) + w.heights.at(-1);
	let larger = 0;
	for (const t of CW.ticks(view.lo - w.c.start, view.hi - w.c.start, view.width / 110)) {
		const x = view.x(t.t + w.c.start),
			half = CW.textWidth(t.text) / 2;
		grid.append(svg('line', { x1: x, x2: x, y1: 22, y2: bottom, class: 'grid' }));
		if (x - half > 2 && x + half < view.width - 2)
			grid.append(svg('text', { x, y: 15, 'text-anchor': 'middle', class: 'soft' }, t.text));
	}
	w.lanes.forEach((lane, i) => {
		const top = w.tops[i],
			wishes = [];
		grid.append(svg('line', { x1: 0, x2: view.width, y1: top, y2: top, class: 'grid' }));
		const box = (lo, hi, y, height, cls, thing) => {
			if (hi < view.lo || lo > view.hi) return;
			const a = Math.max(-4, view.x(lo)),
				b = Math.min(view.width + 4, view.x(hi));
			const el = svg('rect', {
				x: Math.min(a, view.width - 2),
				y: top + y,
				width: Math.max(2, b - a),
				height,
				class: 'hit ' + cls,
				rx: 2,
				tabindex: thing.kind === 'call' ? null : 0,
				'data-lo': lo,
				'data-hi': hi,
				'data-kind': thing.kind,
				role: thing.kind === 'call' ? null : 'img',
				'aria-label': thing.kind === 'call' ? null : CW.thingName(thing, w),
			});
			if (thing.kind !== 'call' && b - a < 2) larger++;
			el.thing = thing;
			bars.append(el);
		};
		for (const q of lane.hop ? lane.queues : []) {
			box(q.lo, q.hi, L.phase, L.phaseH, 'queue-bar', { kind: 'queue', hop: q.hop, lane });
			wishes.push({
				lo: q.lo,
				hi: q.hi,
				rank: 2,
				text: `queued ${CW.about(q.hi - q.lo)}`,
				short: `queued ${CW.about(q.hi - q.lo)}`,
			});
		}
		for (const s of lane.segments) {
			box(s.lo, s.hi, L.phase, L.phaseH, 'work-bar', { kind: 'work', hop: s.hop, lane });
			wishes.push({
				lo: s.lo,
				hi: s.hi,
				rank: 1,
				text: `${CW.target(s.hop)} ${s.hop.end === null ? '' : CW.about(s.hi - s.lo)}`,
				short: s.hop.name ? '' : `hop ${s.hop.plan}`,
			});
		}
		const held = [];
		for (const x of lane.hop ? [] : CW.hopsOf(w.c).filter(y => !y.name && y.src === lane.utid)) {
			const s = CW.blockedSubmitting(x),
				full = s && CW.overview.isFull(x.plan) ? ', its queue full' : '',
				source = s && CW.index('plan', 'plan_hop').get(x.plan).source;
			if (s)
				held.push({
					lo: s.ts,
					hi: s.ts + s.dur,
					rank: 3,
					text: `blocked ${CW.about(s.dur)} in ${source}${full}`,
					short: `in ${source}`,
				});
		}
		const own = new Set(lane.segments.map(s => s.hop.dst_slice));
		let lastCall = -9;
		for (const call of CW.slices(lane.utid, view.lo, view.hi))
			if (!own.has(call.slice) && view.x(call.ts + (call.dur ?? 0)) - lastCall > 3) {
				box(call.ts, call.ts + (call.dur ?? 0), L.call, L.callH, 'other-call', { kind: 'call', call, lane });
				lastCall = view.x(call.ts + (call.dur ?? 0));
			}
		if (!lane.hop) larger += CW.drawStates(bars, lane, view, top + L.state, L.stateH);
		CW.drawLabels(
			labels,
			wishes.filter(x => x.text),
			view,
			top + L.label + 11
		);
		CW.drawLabels(labels, held, view, top + L.state + 12);
	});
	CW.waterfallArrows(w, arrows, hits, view);
	/* On paper of another width all of it is scaled to that. */
	CW.set(w.svg, { viewBox: `0 0 ${view.width} ${parseFloat(w.svg.style.height)}`, preserveAspectRatio: 'none' });
	w.svg.replaceChildren(w.defs, grid, hits, bars, arrows, labels);
	w.note.textContent = larger
		? `${CW.num(larger)} bars shorter than two pixels are drawn larger, two pixels wide; zoom in to see them in true size.`
		: 'Every bar is drawn in true size.';
};

/* The longest times blocked in a chain that one of its threads ended. */
CW.wakesOf = function (lanes) {
	const wakes = [];
	for (const lane of lanes.filter(l => !l.hop))
		for (const seg of [...lane.segments, ...lane.queues]) {
			const within = CW.states(lane.utid, seg.lo, seg.hi).filter(s => s.state === 'blocked');
			/* Of those before the work only the last led to it. */
			for (const s of lane.queues.includes(seg) ? within.slice(-1) : within) {
				const from = CW.wakerOf(s);
				if (
					from &&
					lanes.some(l => l.utid === from.utid) &&
					from.utid !== lane.utid &&
					s.ts + s.dur >= seg.lo &&
					s.ts + s.dur <= seg.hi
				)
					wakes.push({ s, from: from.utid, lane });
			}
		}
	return wakes.sort((a, b) => b.s.dur - a.s.dur).slice(0, 60);
};

/* What of an arrow is pointed at lies below the bars: a short one would be covered by it. */
CW.waterfallArrows = function (w, g, hits, view) {
	const L = CW.lane,
		top = utid => w.tops[w.lanes.findIndex(l => l.utid === utid)];
	const draw = (t, from, to, cls, head, thing) => {
		const x = view.x(t);
		if (x < -1 || x > view.width + 1 || from === to) return;
		const y2 = to > from ? to - 1 : to + 1,
			d = to > from ? -6 : 6;
		g.append(
			svg('line', { x1: x, x2: x, y1: from, y2, class: cls }),
			svg('circle', { cx: x, cy: from, r: 2, class: head }),
			svg('path', { d: `M${x} ${y2} l-4 ${d} h8 z`, class: head })
		);
		const hit = svg('line', { x1: x, x2: x, y1: from, y2, stroke: 'transparent', 'stroke-width': 9, class: 'hit' });
		hit.thing = thing;
		hits.append(hit);
	};
	w.lanes.forEach((lane, i) => {
		if (!lane.hop) return;
		const x = lane.hop,
			y = w.tops[i] + L.phase,
			thing = { kind: 'queue', hop: x };
		/* From who submits into the queue, and out of it to who takes. */
		const into = w.tops[i] > top(x.src);
		draw(x.submit, top(x.src) + (into ? L.state + L.stateH : L.state), into ? y : y + L.phaseH, 'arrow', 'head', thing);
		const out = top(x.dst) > w.tops[i];
		draw(x.start, out ? y + L.phaseH : y, top(x.dst) + (out ? L.phase : L.phase + L.phaseH), 'arrow', 'head', thing);
	});
	for (const k of w.wakes) {
		const down = top(k.lane.utid) > top(k.from);
		draw(
			k.s.ts + k.s.dur,
			top(k.from) + L.state + (down ? L.stateH : 0),
			top(k.lane.utid) + L.state + (down ? 0 : L.stateH),
			'wake',
			'wakehead',
			{ kind: 'wake', s: k.s, lane: k.lane }
		);
	}
};

/* Zoom by a factor around a moment, or move by a share of what is seen; never outside the capture. */
CW.waterfallMove = function (w, factor, around, shift) {
	const end = CW.rows('clock')[0].end,
		v = w.view,
		span = Math.min(end * 1.1, Math.max(500, (v.hi - v.lo) * factor));
	const share = around === null ? 0.5 : (around - v.lo) / (v.hi - v.lo),
		at = around === null ? (v.lo + v.hi) / 2 : around;
	let lo = at - share * span + shift * span;
	lo = Math.max(-0.05 * end - span * 0.02, Math.min(end * 1.05 - span + span * 0.02, lo));
	w.view = { lo, hi: lo + span };
	cancelAnimationFrame(w.frame);
	w.frame = requestAnimationFrame(() => CW.waterfallDraw(w));
};

CW.waterfallAll = function (w) {
	const margin = Math.max(500, (w.c.end - w.c.start) * 0.015);
	w.view = { lo: w.c.start - margin, hi: w.c.end + margin };
	CW.waterfallDraw(w);
};

CW.waterfallInput = function (w, plot) {
	const moment = e =>
		w.view.lo + ((e.clientX - w.svg.getBoundingClientRect().left) / w.svg.clientWidth) * (w.view.hi - w.view.lo);
	plot.addEventListener(
		'wheel',
		e => {
			if (e.ctrlKey || e.metaKey) {
				e.preventDefault();
				CW.waterfallMove(w, Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.01), moment(e), 0);
			} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
				e.preventDefault();
				CW.waterfallMove(w, 1, null, (e.deltaX || e.deltaY) / w.svg.clientWidth);
			}
		},
		{ passive: false }
	);
	let drag = null;
	w.svg.addEventListener('pointerdown', e => {
		drag = { x: e.clientX, moved: false };
	});
	/* Of the window, as a drag may leave the drawing; gone with that. */
	const move = e => {
		if (!w.svg.isConnected) return removeEventListener('pointermove', move);
		if (!drag || !(e.buttons & 1)) return void (drag = null);
		const dx = e.clientX - drag.x;
		if (Math.abs(dx) > 3 || drag.moved) {
			drag = { x: e.clientX, moved: true };
			w.dragged = true;
			CW.waterfallMove(w, 1, null, -dx / w.svg.clientWidth);
		}
	};
	addEventListener('pointermove', move);
	w.svg.addEventListener('click', e => {
		if (!w.dragged && e.target.thing) CW.showThing(w, e.target.thing);
		w.dragged = false;
	});
	w.svg.addEventListener('dblclick', e => {
		const lo = Number(e.target.dataset?.lo),
			hi = Number(e.target.dataset?.hi);
		if (hi > lo) {
			w.view = { lo: lo - (hi - lo) * 0.05, hi: hi + (hi - lo) * 0.05 };
			CW.waterfallMove(w, 1, null, 0);
		} else {
			CW.waterfallMove(w, 0.4, moment(e), 0);
		}
	});
	w.svg.addEventListener('keydown', e => {
		if ((e.key === 'Enter' || e.key === ' ') && e.target.thing) {
			e.preventDefault();
			CW.showThing(w, e.target.thing);
		}
	});
	const tip = document.getElementById('tip');
	w.svg.addEventListener('pointermove', e => {
		if (!e.target.thing || e.buttons) return void (tip.hidden = true);
		CW.showTip(e.clientX, e.clientY, [CW.thingBrief(e.target.thing, w)]);
	});
	w.svg.addEventListener('pointerleave', () => {
		tip.hidden = true;
	});
};

/* An arrow for the legend. */
CW.arrowKey = (line, head) =>
	svg(
		'svg',
		{ viewBox: '0 0 26 10', 'aria-hidden': 'true' },
		svg('line', { x1: 0, x2: 20, y1: 5, y2: 5, class: line }),
		svg('path', { d: 'M25 5 l-6 -4 v8 z', class: head })
	);

/* Where the thread that submits a hop is blocked in that very call. */
CW.blockedSubmitting = function (hop) {
	const p = hop.name ? null : CW.index('plan', 'plan_hop').get(hop.plan);
	return CW.states(hop.src, hop.submit, hop.start).find(
		s =>
			p &&
			s.state === 'blocked' &&
			s.ts >= hop.submit &&
			!CW.slices(hop.src, hop.submit + 1, s.ts).some(c => c.ts > hop.submit) &&
			CW.frames(CW.placeOf(CW.offOf(s.off))?.user ?? null).some(f => f?.function === p.source)
	);
};

CW.waterfall = function (root, c) {
	const w = {
		c,
		lanes: CW.lanesOf(c),
		note: h('p', { class: 'soft', id: 'drawn-larger' }),
		details: h('div', { class: 'panel', id: 'details', 'aria-live': 'polite' }),
	};
	w.wakes = CW.wakesOf(w.lanes);
	w.svg = svg('svg', { role: 'group', 'aria-label': 'Time axis of the chain' });
	w.defs = svg(
		'defs',
		null,
		svg(
			'pattern',
			{ id: 'queue-hatch', width: 7, height: 7, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' },
			svg('rect', { width: 7, height: 7, class: 'hatch-ground' }),
			svg('line', { x1: 2, y1: 0, x2: 2, y2: 7, class: 'hatch' })
		)
	);
	const names = h(
		'div',
		{ class: 'lane-names' },
		h(
			'div',
			{ class: 'axis-name' },
			c.hops?.length && Array.isArray(c.hops) ? 'time since the call' : 'time since its first submission'
		),
		w.lanes.map(l =>
			h(
				'div',
				{ class: 'lane-name', style: { minHeight: (l.hop ? CW.lane.queueHeight : CW.lane.height) + 'px' } },
				CW.laneName(l)
			)
		)
	);
	const plot = h(
		'div',
		{
			class: 'plot',
			tabindex: 0,
			id: 'waterfall',
			role: 'group',
			'aria-label': 'Time axis: plus and minus zoom, arrows move, 0 shows all',
		},
		h('div', { class: 'lanes' }, names, h('div', { class: 'lane-plot' }, w.svg))
	);
	const button = (text, title, act) => h('button', { type: 'button', title, onclick: act }, text);
	root.append(
		plot,
		h(
			'div',
			{ class: 'bar' },
			button('−', 'zoom out (−)', () => CW.waterfallMove(w, 1.6, null, 0)),
			button('+', 'zoom in (+)', () => CW.waterfallMove(w, 0.6, null, 0)),
			button('all', 'the whole (0)', () => CW.waterfallAll(w)),
			button('←', 'earlier', () => CW.waterfallMove(w, 1, null, -0.25)),
			button('→', 'later', () => CW.waterfallMove(w, 1, null, 0.25)),
			h(
				'span',
				{ class: 'soft' },
				'Ctrl and wheel or pinch zooms, drag moves, a double click fills the view with a bar, a click tells all about it.'
			)
		),
		w.note,
		CW.legend(w.lanes.some(l => l.hop) ? undefined : CW.stateNames),
		h(
			'div',
			{ class: 'legend' },
			h(
				'span',
				null,
				h('i', { class: 'work-key' }),
				w.lanes.some(l => l.hop)
					? [h('b', null, CW.label.work), ' ', CW.meaning.work]
					: [h('b', null, 'call'), ' from entry to return']
			),
			w.lanes.some(l => l.hop)
				? h('span', null, CW.arrowKey('arrow', 'head'), h('b', null, 'solid arrow'), ' submitted; taken')
				: null,
			h('span', null, CW.arrowKey('wake', 'wakehead'), h('b', null, 'dashed arrow'), ' wakes the thread it points at'),
			h(
				'span',
				null,
				h('i', { class: 'c-blocked', style: { opacity: 0.38 } }),
				h('b', null, 'pale'),
				' not for this ',
				w.lanes.some(l => l.hop) ? 'chain' : 'call'
			),
			h('span', null, h('i', { class: 'call-key' }), h('b', null, 'thin grey bar'), ' another call of a recorded function')
		),
		w.details
	);
	names.style.height = 'auto';
	const base = names.getBoundingClientRect().top;
	const boxes = [...names.querySelectorAll('.lane-name')].map(x => x.getBoundingClientRect());
	w.tops = boxes.map(b => Math.round(b.top - base));
	w.heights = boxes.map(b => b.height);
	w.svg.style.height = names.getBoundingClientRect().height + 'px';
	CW.waterfallAll(w);
	CW.waterfallInput(w, plot);
	new ResizeObserver(() => w.svg.isConnected && w.svg.clientWidth !== w.scale.width && CW.waterfallDraw(w)).observe(w.svg);
	CW.waterfall.key = e => {
		const act = {
			'+': [0.6, null, 0],
			'=': [0.6, null, 0],
			'-': [1.6, null, 0],
			ArrowLeft: [1, null, -0.15],
			ArrowRight: [1, null, 0.15],
		}[e.key];
		if (e.key === '0') CW.waterfallAll(w);
		else if (act && !e.target.matches?.('[role=tab]')) CW.waterfallMove(w, ...act);
		else return false;
		return true;
	};
	CW.waterfall.current = w;
	const longest = CW.longestThing(w);
	if (longest) CW.showThing(w, longest);
};
