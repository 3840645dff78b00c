// SPDX-License-Identifier: GPL-2.0-only
// Opens an export in speedscope itself: node speedscope.mjs MODULES FILE, with $CHROMIUM. Prints its
// table of functions for the profile that it shows first, a line a function: total and self weight as it prints them.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const [modules, file] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, 'package.json'))('playwright-core');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM,
	args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const errors = [];
page.on('pageerror', e => errors.push(String(e)));
// As its own command line program hands over a file.
fs.writeFileSync(file + '.js', `speedscope.loadFileFromBase64(${JSON.stringify(path.basename(file))}, "${fs.readFileSync(file).toString('base64')}")`);
await page.goto('file://' + path.resolve(modules, 'node_modules/speedscope/dist/release/index.html') +
	'#localProfilePath=' + path.resolve(file + '.js'));
await page.getByText('Sandwich').first().click({ timeout: 60000 });
await page.waitForFunction(() => [...document.querySelectorAll('td')].some(d => d.textContent.includes('%')), null, { timeout: 60000 });
const rows = await page.$$eval('table tr', list => list.map(r => [...r.querySelectorAll('td')].map(d => d.innerText.trim()).join('\t')).filter(x => x.includes('%')));
if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT });
await browser.close();
console.log(rows.join('\n'));
for (const e of errors) console.error(e);
process.exit(errors.length || !rows.length ? 1 : 0);
