/* SPDX-License-Identifier: GPL-2.0-only */
/* A flame graph that can be searched and zoomed, and the same as a table. Root on top. */
'use strict';

CW.flameTree = function (stacks) {
	const root = { name: 'all', value: 0, n: 0, children: new Map(), depth: 0 };
	for (const s of stacks) {
		let node = root;
		root.value += s.value;
		root.n += s.n;
		for (const name of s.leaf ? [...s.frames, s.leaf] : s.frames) {
			if (!node.children.has(name))
				node.children.set(name, { name, value: 0, n: 0, children: new Map(), parent: node, depth: node.depth + 1 });
			node = node.children.get(name);
			node.value += s.value;
			node.n += s.n;
		}
		node.self = (node.self ?? 0) + s.value;
	}
	return root;
};

/* The same name always has the same hue; warm ones, as the time is spent blocked or called. */
CW.flameColour = function (name) {
	let x = 7;
	for (let i = 0; i < name.length; i++) x = (x * 31 + name.charCodeAt(i)) >>> 0;
	return `hsl(${18 + (x % 38)} ${62 + (x % 23)}% ${66 + ((x >> 3) % 12)}%)`;
};

/* stacks: {frames (outermost first), leaf, value, n}; show turns a value into text. */
CW.flame = function (stacks, show) {
	if (!stacks.length) return h('p', { class: 'soft' }, 'no stack');
	const root = CW.flameTree(stacks),
		box = h('div', { class: 'flame', id: 'flame', role: 'tree', 'aria-label': 'Flame graph' }),
		found = h('span', { class: 'soft', role: 'status' });
	let zoom = root,
		search = '';
	const draw = () => {
		const width = box.clientWidth || 1200,
			rows = [],
			path = [],
			/* The frame that has the focus keeps it, or what is zoomed to gets it. */
			focused = box.contains(document.activeElement) ? document.activeElement.node : null;
		for (let n = zoom.parent; n; n = n.parent) path.unshift(n);
		let deepest = 0,
			matched = 0;
		const put = (node, x, w, above) => {
			if (w < 1) return;
			deepest = Math.max(deepest, node.depth);
			const hit = search && node.name.toLowerCase().includes(search);
			const el = h(
				'div',
				{
					role: 'treeitem',
					tabindex: w > 20 ? 0 : null,
					'aria-level': node.depth + 1,
					'aria-label': `${node.name}, ${show(node.value)}`,
					class: `${hit ? 'found' : ''} ${above ? 'above' : ''}`,
					style: {
						left: x + 'px',
						width: Math.max(1, w - 0.5) + 'px',
						top: node.depth * 18 + 'px',
						background: CW.flameColour(node.name),
						padding: w < 14 ? '0' : null,
					},
					onclick: () => {
						zoom = node;
						draw();
					},
					onkeydown: e => {
						if (e.key === 'Enter') {
							zoom = node;
							draw();
						}
					},
				},
				w >= 14 ? node.name : ''
			);
			el.node = node;
			CW.tip(el, () => [
				h('h4', null, node.name),
				CW.facts([
					[
						'time',
						`${show(node.value)} (${CW.pct(node.value / root.value)} of all, ${CW.pct(node.value / zoom.value)} of what is shown)`,
					],
					['times', CW.num(node.n)],
				]),
			]);
			rows.push(el);
			if (above) return;
			let at = x;
			for (const c of [...node.children.values()].sort((a, b) => b.value - a.value)) {
				const cw = (w * c.value) / node.value;
				put(c, at, cw, false);
				at += cw;
			}
		};
		const sum = node =>
			!search
				? 0
				: node.name.toLowerCase().includes(search)
					? node.value
					: [...node.children.values()].reduce((s, c) => s + sum(c), 0);
		path.forEach(n => put(n, 0, width, true));
		put(zoom, 0, width, false);
		matched = sum(zoom);
		box.style.height = (deepest + 1) * 18 + 'px';
		box.replaceChildren(...rows);
		if (focused) (rows.find(e => e.node === focused && e.tabIndex === 0) ?? rows[path.length]).focus({ preventScroll: true });
		found.textContent = search ? `${show(matched)} (${CW.pct(matched / zoom.value)}) under a match` : '';
	};
	const list = h(
		'details',
		null,
		h('summary', null, 'as a table'),
		CW.table(
			[
				{ title: 'time', n: true, cell: s => show(s.value), sort: s => s.value },
				{ title: 'share', n: true, cell: s => CW.pct(s.value / root.value) },
				{ title: 'times', n: true, cell: s => CW.num(s.n), sort: s => s.n },
				{
					title: 'stack, innermost first',
					wide: true,
					cell: s => code([s.leaf, ...s.frames.slice().reverse()].filter(Boolean).join(' ← ')),
				},
			],
			stacks
				.slice()
				.sort((a, b) => b.value - a.value)
				.slice(0, 50)
		)
	);
	setTimeout(draw, 0);
	new ResizeObserver(() => draw()).observe(box);
	return h(
		'div',
		null,
		h(
			'div',
			{ class: 'bar' },
			h('input', {
				type: 'search',
				id: 'flame-search',
				placeholder: 'Search functions',
				'aria-label': 'Search functions',
				oninput: e => {
					search = e.target.value.toLowerCase();
					draw();
				},
			}),
			h(
				'button',
				{
					type: 'button',
					onclick: () => {
						zoom = root;
						draw();
					},
				},
				'all'
			),
			found,
			h('span', { class: 'soft' }, 'a click zooms')
		),
		box,
		list
	);
};
