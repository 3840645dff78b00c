// SPDX-License-Identifier: GPL-2.0-only
// What exports were made for, asked to take them: node tools.mjs MODULES FOLDER NAME... reads FOLDER/NAME.FORMAT
// and prints what is wrong. Formats whose tool is no package are held against the rules of its documentation.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const [modules, folder, ...names] = process.argv.slice(2);
const require = createRequire(path.join(modules, 'package.json'));
const wrong = [];
const seen = {};
const check = (ok, ...what) => { if (!ok && wrong.length < 40) wrong.push(what.join(' ')); };
const count = (what, n = 1) => { seen[what] = (seen[what] || 0) + n; };
const read = (name, format) => fs.readFileSync(path.join(folder, `${name}.${format}`), 'utf8');

// ---- speedscope: the JSON schema that it ships, and weights that its importer would refuse --------------
const Ajv = require('ajv').default || require('ajv');
const release = path.join(modules, 'node_modules/speedscope/dist/release');
const schema = JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json'), 'utf8'));
const valid = new Ajv({ strict: false, allErrors: true }).compile(schema);
function speedscope(name) {
	const file = JSON.parse(read(name, 'speedscope'));
	check(valid(file), name, 'speedscope schema:', JSON.stringify(valid.errors?.slice(0, 3)));
	for (const p of file.profiles) {
		check(p.samples.every(s => s.every(f => f in file.shared.frames)), name, 'speedscope: no such frame');
		check(p.weights.every(w => w > 0), name, 'speedscope: a weight that is not positive');
		count('speedscope profiles');
	}
}

// ---- OTLP: the protocol's own messages -------------------------------------------------------------------
const { opentelemetry } = require('@opentelemetry/otlp-transformer/build/src/generated/root.js');
const Request = opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
const bytes = span => {
	for (const id of ['traceId', 'spanId', 'parentSpanId'])
		if (id in span) span[id] = Buffer.from(span[id], 'hex');
	return span;
};
// Every field that was given must be one of the message: fromObject drops those that are not.
function kept(given, got, where) {
	for (const key of Object.keys(given)) {
		if (!(key in got)) check(false, 'otlp: no field', where + '.' + key);
		else if (Array.isArray(given[key]) || (given[key] && typeof given[key] === 'object' && !Buffer.isBuffer(given[key])))
			kept(given[key], got[key], where + '.' + (Array.isArray(given) ? '*' : key));
		else if (!Buffer.isBuffer(given[key]))
			check(String(given[key]) === String(got[key]), 'otlp:', where, key, given[key], 'became', got[key]);
	}
}
function otlp(name) {
	const file = JSON.parse(read(name, 'otlp'));
	for (const r of file.resourceSpans)
		for (const s of r.scopeSpans)
			for (const span of s.spans) {
				bytes(span);
				for (const link of span.links || []) bytes(link);
				check(span.traceId.length === 16 && span.spanId.length === 8, name, 'otlp: length of ids');
				count('otlp spans');
			}
	const message = Request.fromObject(file);
	const problem = Request.verify(message);
	check(!problem, name, 'otlp:', problem);
	const back = Request.toObject(Request.decode(Request.encode(message).finish()), { longs: String, enums: Number, bytes: Buffer, defaults: true, arrays: true });
	kept(file, back, 'request');
}

// ---- dot: Graphviz itself ---------------------------------------------------------------------------------
const { Graphviz } = await import(require.resolve('@hpcc-js/wasm-graphviz'));
const graphviz = await Graphviz.load();
function dot(name) {
	const text = read(name, 'dot');
	const svg = graphviz.dot(text, 'svg');
	check((svg.match(/class="edge"/g) || []).length === (text.match(/ -> /g) || []).length, name, 'dot: edges drawn');
	count('graph nodes', (svg.match(/class="node"/g) || []).length);
}

// ---- Chrome's trace events, by the format's document and by how Perfetto imports them ------------------------
// Sorted by time, events of a time in file order. On a track a slice that begins ends those that are over; one that
// would outlast the open one is misplaced. Arrows bind to the innermost open slice of the thread's track.
function chrome(name) {
	const events = JSON.parse(read(name, 'chrome')).traceEvents;
	const ns = us => Math.trunc(us * 1000);
	const tracks = new Map(), async = new Map(), flows = new Map();
	const named = new Set();
	for (const e of events) {
		check(typeof e.ph === 'string' && Number.isInteger(e.pid) && e.pid < 2 ** 31, name, 'chrome: ph or pid', JSON.stringify(e));
		check(e.tid === undefined || (Number.isInteger(e.tid) && e.tid < 2 ** 31), name, 'chrome: tid', JSON.stringify(e));
		check(e.ph === 'M' || (typeof e.ts === 'number' && typeof e.name === 'string' && typeof e.cat === 'string'), name, 'chrome: ts, name, cat', JSON.stringify(e));
		if (e.ph === 'M' && e.name === 'thread_name') named.add(e.pid + '/' + e.tid);
	}
	for (const e of events.filter(x => x.ph !== 'M').map((x, i) => ({ ...x, i, t: ns(x.ts) })).sort((a, b) => a.t - b.t || a.i - b.i)) {
		const key = e.pid + '/' + e.tid;
		if (e.ph === 'X') {
			const open = tracks.get(key) || [];
			check(named.has(key), name, 'chrome: a thread without a name', key);
			while (open.length && open.at(-1) <= e.t) open.pop();
			check(!open.length || e.t + ns(e.dur) <= open.at(-1), name, 'chrome: a slice outlasts the one it is in', JSON.stringify(e));
			open.push(e.t + ns(e.dur));
			tracks.set(key, open);
			count('chrome slices');
		} else if (e.ph === 'b' || e.ph === 'e') {
			const id = e.pid + '/' + e.cat + '/' + e.id2.local, open = async.get(id) || [];
			if (e.ph === 'b') open.push(e.name);
			else check(open.pop() === e.name, name, 'chrome: an end without its begin', JSON.stringify(e));
			async.set(id, open);
			count('chrome asynchronous slices', e.ph === 'b' ? 1 : 0);
		} else if (e.ph === 's' || e.ph === 'f') {
			check((tracks.get(key) || []).length, name, 'chrome: an arrow at no slice', JSON.stringify(e));
			check(e.ph === 's' || e.bp === 'e', name, 'chrome: an arrow that binds to the next slice', JSON.stringify(e));
			check((e.ph === 'f') === flows.has(e.cat + e.id), name, 'chrome: an arrow without its begin', JSON.stringify(e));
			if (e.ph === 's') flows.set(e.cat + e.id, e);
			count('chrome arrows', e.ph === 's' ? 1 : 0);
		}
	}
	for (const [id, open] of async) check(!open.length, name, 'chrome: never ends:', id);
}

// ---- Firefox Profiler, by the types that document its processed profile ---------------------------------------
function firefox(name) {
	const p = JSON.parse(read(name, 'firefox')), strings = p.shared.stringArray;
	for (const key of ['interval', 'startTime', 'processType', 'product', 'stackwalk', 'version', 'categories', 'markerSchema'])
		check(key in p.meta, name, 'firefox: no meta.' + key);
	check(p.meta.preprocessedProfileVersion === 56 && p.meta.categories.some(c => c.color === 'grey') &&
		p.meta.categories.every(c => c.subcategories.length), name, 'firefox: version or categories');
	const schemas = new Map(p.meta.markerSchema.map(s => [s.name, new Set(s.fields.map(f => f.key))]));
	for (const t of p.threads) {
		const at = (table, column, limit, nullable) => check(t[table][column].every(v => (nullable && v === null) || (Number.isInteger(v) && v >= 0 && v < limit)),
			name, 'firefox:', table + '.' + column);
		check(typeof t.pid === 'string' && typeof t.name === 'string' && Array.isArray(t.pausedRanges), name, 'firefox: pid, name or pausedRanges');
		at('samples', 'stack', t.stackTable.length, true);
		at('stackTable', 'frame', t.frameTable.length);
		check(t.stackTable.prefix.every((v, i) => v === null || (v >= 0 && v < i)), name, 'firefox: a stack before its prefix');
		at('frameTable', 'func', t.funcTable.length);
		at('frameTable', 'category', p.meta.categories.length, true);
		at('funcTable', 'name', strings.length);
		at('funcTable', 'fileName', strings.length, true);
		at('markers', 'name', strings.length);
		at('markers', 'category', p.meta.categories.length);
		check(t.samples.time.every((v, i, a) => !i || a[i - 1] <= v), name, 'firefox: samples are not in time order');
		check(t.markers.startTime.every((v, i) => t.markers.phase[i] === 1 && v <= t.markers.endTime[i]), name, 'firefox: a marker ends before it begins');
		for (const d of t.markers.data)
			check(schemas.has(d.type) && Object.keys(d).every(k => k === 'type' || schemas.get(d.type).has(k)), name, 'firefox: a marker without a schema', JSON.stringify(d));
		for (const table of ['samples', 'markers', 'stackTable', 'frameTable', 'funcTable', 'resourceTable', 'nativeSymbols'])
			for (const [column, list] of Object.entries(t[table]))
				if (Array.isArray(list)) check(list.length === t[table].length, name, 'firefox: length of', table, column);
		count('firefox threads');
		count('firefox markers', t.markers.length);
	}
}

for (const name of names)
	for (const tool of [speedscope, otlp, dot, chrome, firefox]) {
		try {
			tool(name);
		} catch (e) {
			check(false, name, tool.name, e.stack || e);
		}
	}
for (const line of wrong) console.log(line);
console.log(Object.entries(seen).map(([k, v]) => `${v} ${k}`).join(', '));
process.exit(wrong.length ? 1 : 0);
