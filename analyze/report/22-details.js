/* SPDX-License-Identifier: GPL-2.0-only */
/* What one part of a drawn chain is: in a line, in a tooltip, and in full with its stacks. */
'use strict';

CW.offOf = off => (off === null ? null : (CW.index('off', 'off').get(off) ?? null));
CW.placeOf = off => (off ? (CW.index('place', 'place').get(off.place) ?? null) : null);

CW.ranInstead = function (off) {
	CW.ranBy ??= CW.group(CW.rows('ran'), r => r.off);
	return off === null ? [] : (CW.ranBy.get(off) ?? []);
};

CW.wakerText = function (s) {
	const w = CW.wakerOf(s),
		off = CW.offOf(s.off);
	if (!w) return null;
	const who = w.utid !== null ? CW.threadName(w.utid) : w.irq ? 'an interrupt (timer or device)' : 'unknown';
	const evidence = {
		observed: '; observed: it was waking this futex',
		candidate: '; candidate: it is only known to have made the thread runnable',
	};
	return [
		who,
		w.syscall && !w.irq ? `, in ${w.syscall}` : '',
		w.irq && w.utid !== null ? ', in an interrupt' : '',
		evidence[off?.evidence] ?? '',
	].join('');
};

CW.reasonOf = function (s) {
	const off = CW.offOf(s.off),
		ran = CW.ranInstead(s.off);
	if (s.state === 'blocked') return CW.placeOf(off)?.reason ?? 'unknown';
	if (s.state === 'runq' || s.state === 'preempted')
		return ran.length
			? ran
					.slice(0, 4)
					.map(r => `${CW.threadName(r.utid)} ran for ${CW.ns(r.dur)}`)
					.join(', ') + (ran.length > 4 ? ` and ${ran.length - 4} more` : '')
			: 'no other thread had the CPU: so long the switch to it took';
	if (s.state === 'unknown') return 'records were lost here';
	return null;
};

CW.thingName = function (t, w) {
	const hop = t.hop,
		p = hop && !hop.name ? CW.index('plan', 'plan_hop').get(hop.plan) : null;
	if (t.kind === 'queue')
		return `hop ${hop.plan}: queued ${CW.ns(hop.start - hop.submit)} between ${p?.source} and ${p?.target}`;
	if (t.kind === 'work') {
		const took = hop.end === null ? 'for an unknown time' : CW.ns(hop.end - hop.start);
		return hop.name ? `call of ${hop.name}, ${took}` : `hop ${hop.plan}: work of ${CW.target(hop)}, ${took}`;
	}
	if (t.kind === 'call') return `another call of ${CW.probeName(t.call.probe)}: ${CW.ns(t.call.dur)}`;
	if (t.kind === 'many') return `${CW.num(t.n)} states, zoom in to see them`;
	if (t.kind === 'wake') return `wakes ${CW.threadName(t.s.utid)}`;
	return `${CW.label[t.s.state]} ${CW.ns(t.s.dur)}`;
};

CW.thingBrief = function (t, w) {
	const facts = [];
	if (t.kind === 'state' || t.kind === 'wake') {
		facts.push(
			['thread', CW.threadName(t.s.utid)],
			['from', CW.ns(t.s.ts - w.c.start)],
			['why', CW.reasonOf(t.s)],
			['woken by', CW.wakerText(t.s)]
		);
	} else if (t.kind === 'many') {
		for (const [k, ns] of Object.entries(t.sums)) facts.push([CW.label[k], CW.ns(ns)]);
	} else if (t.hop?.name) {
		facts.push(['thread', CW.threadName(t.hop.dst)]);
	} else if (t.hop) {
		facts.push(
			['key', t.hop.key],
			['submitted by', CW.threadName(t.hop.src)],
			['taken by', CW.threadName(t.hop.dst)],
			['evidence', t.hop.evidence]
		);
	}
	return h(
		'div',
		null,
		h('h4', null, CW.thingName(t, w)),
		CW.facts(facts),
		h('div', { class: 'soft' }, t.kind === 'many' ? null : 'click: stacks and more')
	);
};

CW.stateDetails = function (s, w, lane) {
	const off = CW.offOf(s.off),
		place = CW.placeOf(off),
		waker = CW.wakerOf(s);
	const seg = lane.segments.find(g => s.ts < g.hi && s.ts + s.dur > g.lo);
	const inside = seg ? Math.min(seg.hi, s.ts + s.dur) - Math.max(seg.lo, s.ts) : null;
	return h(
		'div',
		null,
		h('h4', null, `${CW.threadName(s.utid)}: ${CW.label[s.state]} for ${CW.ns(s.dur)}`),
		h(
			'div',
			{ class: 'details' },
			CW.facts([
				['from', `${CW.ns(s.ts - w.c.start)} (${CW.ns(s.ts)} after the start of the recording)`],
				['to', CW.ns(s.ts + s.dur - w.c.start)],
				[
					'in',
					seg
						? `${seg.hop.name ? 'the call' : 'work'} of ${CW.target(seg.hop)}${seg.hop.name ? '' : ` (hop ${seg.hop.plan})`}: ` +
							`${CW.ns(inside)}, ${CW.pct(inside / (seg.hi - seg.lo))} of it`
						: 'no work of this chain: that ends where the next task is submitted',
				],
				['why', CW.reasonOf(s)],
				['kernel', s.state === 'blocked' && place?.function ? code(place.function) : null],
				['woken by', CW.wakerText(s)],
				['CPU', s.cpu],
			]),
			s.state === 'blocked' ? h('div', null, h('h4', null, 'It was blocked in'), CW.stack(place?.user ?? null)) : null,
			s.state === 'blocked' && waker && waker.stack !== null && !waker.irq
				? h('div', null, h('h4', null, 'The waker was in'), CW.stack(waker.stack))
				: null,
			s.state === 'blocked' && place?.kernel !== null && place
				? h('div', null, h('h4', null, 'Blocked in the kernel in'), CW.stack(place.kernel))
				: null
		)
	);
};

CW.hopDetails = function (t) {
	const x = t.hop,
		p = CW.index('plan', 'plan_hop').get(x.plan);
	const pairs =
		t.kind === 'queue'
			? [
					['queued', CW.ns(x.start - x.submit)],
					['key', code(x.key)],
					['submitted by', `${p.source} in ${CW.threadName(x.src)}`],
					['taken by', `${p.target} in ${CW.threadName(x.dst)}`],
					['evidence', `${x.evidence}${x.candidates > 1 ? `, ${x.candidates} candidates` : ''}`],
				]
			: [
					[x.name ? 'took' : 'work', x.end === null ? 'unknown' : CW.ns(x.end - x.start)],
					...CW.stateNames.map(s => [
						CW.label[s],
						x[s] === null || (s === 'unknown' && !x[s])
							? null
							: `${CW.ns(x[s])} (${CW.pct(x[s] / (x.end - x.start))})`,
					]),
					['thread', CW.threadName(x.dst)],
				];
	return h(
		'div',
		null,
		h('h4', null, CW.thingName(t)),
		h(
			'div',
			{ class: 'details' },
			CW.facts(pairs),
			x.name ? null : h('div', null, h('h4', null, 'Submitted at'), CW.stack(x.src_stack)),
			h('div', null, h('h4', null, x.name ? 'Called at' : 'Taken at'), CW.stack(x.dst_stack))
		)
	);
};

CW.showThing = function (w, t) {
	if (t.kind === 'state' || t.kind === 'wake') w.details.replaceChildren(CW.stateDetails(t.s, w, t.lane));
	else if (t.hop) w.details.replaceChildren(CW.hopDetails(t));
	else w.details.replaceChildren(CW.thingBrief(t, w));
};

/* What is told before anything is clicked: the longest time queued or in one state. */
CW.longestThing = function (w) {
	let best = null,
		most = -1;
	for (const lane of w.lanes) {
		for (const q of lane.queues)
			if (q.hi - q.lo > most) {
				most = q.hi - q.lo;
				best = { kind: 'queue', hop: q.hop, lane };
			}
		for (const seg of lane.segments)
			for (const s of CW.states(lane.utid, seg.lo, seg.hi))
				if (s.dur > most) {
					most = s.dur;
					best = { kind: 'state', s, lane };
				}
	}
	return best;
};
