/* SPDX-License-Identifier: GPL-2.0-only */
/* States of threads and their calls: found by time, and drawn into a lane. Knows no chain. */
'use strict';

/* Where in data.state the states of a thread are that overlap [lo, hi): from the first to before the second. */
CW.stateSpan = function (utid, lo, hi) {
	const s = CW.data.state;
	if (!CW.stateRange) {
		CW.stateRange = new Map();
		s.ts = new Array(CW.count('state'));
		for (let i = 0, end = 0, range = null; i < s.ts.length; i++) {
			if (i === 0 || s.utid[i] !== s.utid[i - 1]) {
				CW.stateRange.set(s.utid[i], (range = [i, i]));
				end = 0;
			}
			s.ts[i] = end + s.gap[i];
			end = s.ts[i] + s.dur[i];
			range[1] = i + 1;
		}
	}
	const first = (from, to, past) => {
		while (from < to) {
			const m = (from + to) >> 1;
			if (past(m)) to = m;
			else from = m + 1;
		}
		return from;
	};
	const [from, to] = CW.stateRange.get(utid) ?? [0, 0],
		a = first(from, to, m => s.ts[m] + s.dur[m] > lo);
	return [a, first(a, to, m => s.ts[m] >= hi)];
};

CW.stateAt = function (i) {
	const s = CW.data.state;
	return { utid: s.utid[i], ts: s.ts[i], dur: s.dur[i], state: CW.stateNames[s.state[i]], cpu: s.cpu[i], off: s.off[i] };
};

/* States of a thread that overlap [lo, hi), in time order. */
CW.states = function (utid, lo, hi) {
	const [a, b] = CW.stateSpan(utid, lo, hi);
	return Array.from({ length: b - a }, (_, i) => CW.stateAt(a + i));
};

/* Outermost calls of probed functions in a thread that touch [lo, hi]; they do not overlap. */
CW.slices = function (utid, lo, hi) {
	CW.sliceBy ??= CW.group(
		CW.rows('slice').filter(r => r.depth === 0),
		r => r.utid
	);
	const all = CW.sliceBy.get(utid) ?? [];
	let a = 0;
	for (let b = all.length; a < b;) {
		const m = (a + b) >> 1;
		if (all[m].ts + (all[m].dur ?? 0) < lo) a = m + 1;
		else b = m;
	}
	const from = a;
	while (a < all.length && all[a].ts < hi) a++;
	return all.slice(from, a);
};

CW.wakerOf = function (state) {
	const off = state.off === null ? null : CW.index('off', 'off').get(state.off);
	return off ? (CW.index('waker', 'waker').get(off.waker) ?? null) : null;
};

/*
 * What is too short to be drawn and not for this chain: columns of three pixels that show the longest state.
 * Its loop runs over all that the view covers, so it makes no objects but for what is drawn.
 */
CW.shortStates = function (view) {
	const WIDE = 3,
		n = Math.ceil(view.width / WIDE),
		sums = new Float64Array(n * 5),
		counts = new Uint32Array(n);
	return {
		add(x, state, dur) {
			const at = Math.max(0, Math.min(n - 1, Math.floor(x / WIDE)));
			sums[at * 5 + state] += dur;
			counts[at]++;
		},
		/* Neighbours that show the same are one bar, up to 16 pixels, which tells the sums of all of it. */
		draw(g, lane, y, height) {
			let bar = null;
			const flush = () => {
				if (!bar) return;
				const el = svg('rect', {
					x: bar.at * WIDE,
					y,
					width: (bar.end - bar.at) * WIDE,
					height,
					class: `hit dim c-${CW.stateNames[bar.longest]}`,
				});
				const at = bar;
				el.thing = {
					kind: 'many',
					n: at.n,
					lane,
					get sums() {
						const all = {};
						for (let i = at.at * 5; i < at.end * 5; i++)
							if (sums[i] > 0) all[CW.stateNames[i % 5]] = (all[CW.stateNames[i % 5]] ?? 0) + sums[i];
						return all;
					},
				};
				g.append(el);
				bar = null;
			};
			for (let i = 0; i < n; i++) {
				if (!counts[i]) {
					flush();
					continue;
				}
				let longest = 0;
				for (let k = 1; k < 5; k++) if (sums[i * 5 + k] > sums[i * 5 + longest]) longest = k;
				if (bar && (bar.longest !== longest || i - bar.at >= 5)) flush();
				bar ??= { at: i, n: 0, longest };
				bar.end = i + 1;
				bar.n += counts[i];
			}
			flush();
		},
	};
};

/*
 * Draws states into a lane: those of two pixels and more where they are, shorter ones of its work two pixels
 * wide, what else is shorter in columns.
 */
CW.drawStates = function (g, lane, view, y, height) {
	const d = CW.data.state,
		many = CW.shortStates(view),
		short = new Map(),
		drawn = [];
	const from = Math.min(...lane.segments.map(seg => seg.lo)),
		to = Math.max(...lane.segments.map(seg => seg.hi));
	let larger = 0;
	const put = (x, w, s, inside, lo, hi, extra) => {
		const el = svg('rect', {
			x,
			y,
			width: w,
			height,
			class: `hit c-${s.state}${inside ? '' : ' dim'}`,
			'data-ts': s.ts,
			'data-dur': s.dur,
			'data-state': s.state,
			'data-lo': lo,
			'data-hi': hi,
			'data-utid': s.utid,
			'data-in': inside ? '1' : '0',
			...extra,
		});
		el.thing = { kind: 'state', s, lane, inside };
		drawn.push(el);
	};
	const part = (index, lo, hi) => {
		const x0 = view.x(lo),
			x1 = view.x(hi);
		if (hi <= view.lo || lo >= view.hi || hi <= lo) return;
		const inside = lane.segments.some(seg => lo >= seg.lo && hi <= seg.hi);
		if (x1 - x0 >= 2) {
			const left = Math.max(0, x0);
			put(left, Math.min(view.width, x1) - left, CW.stateAt(index), inside, lo, hi);
		} else if (inside) {
			const at = Math.floor(x0 / 2);
			if (!short.has(at) || short.get(at).hi - short.get(at).lo < hi - lo)
				short.set(at, { index, lo, hi, x: Math.max(0, Math.min(view.width - 2, (x0 + x1) / 2 - 1)) });
			larger++;
		} else {
			many.add(x0, d.state[index], hi - lo);
		}
	};
	const [first, end] = CW.stateSpan(lane.utid, view.lo, view.hi),
		scale = view.width / (view.hi - view.lo);
	for (let i = first; i < end; i++) {
		const lo = d.ts[i],
			hi = lo + d.dur[i];
		if ((hi <= from || lo >= to) && (hi - lo) * scale < 2) {
			many.add((lo - view.lo) * scale, d.state[i], hi - lo);
			continue;
		}
		/* Where work begins or ends within a state, it is drawn in parts. */
		const cuts = [lo, hi];
		for (const seg of lane.segments) cuts.push(...[seg.lo, seg.hi].filter(t => t > lo && t < hi));
		cuts.sort((a, b) => a - b);
		for (let k = 0; k + 1 < cuts.length; k++) part(i, cuts[k], cuts[k + 1]);
	}
	many.draw(g, lane, y, height);
	g.append(...drawn);
	for (const k of short.values()) {
		drawn.length = 0;
		put(k.x, 2, CW.stateAt(k.index), true, k.lo, k.hi, { 'data-larger': '1' });
		g.append(...drawn);
	}
	return larger;
};
