// Makes the page one file and writes it as C++:  node build.mjs PACKAGES OUTPUT.cpp
// PACKAGES is the folder in which `npm ci` put node_modules.

import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const packages = resolve(process.argv[2]);
const output = process.argv[3];
const source = name => join(dirname(fileURLToPath(import.meta.url)), name);
const esbuild = createRequire(join(packages, 'package.json'))('esbuild');

async function bundle(entry) {
    const result = await esbuild.build({
        entryPoints: [source(entry)],
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        target: 'es2022',
        charset: 'utf8',
        legalComments: 'none',
        nodePaths: [join(packages, 'node_modules')],
    });
    return result.outputFiles[0].text.trim();
}

const hashOf = text => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

// A literal for each hundred bytes or so. `\?` keeps trigraphs away.
function literal(text) {
    const bytes = Array.from(Buffer.from(text), byte => {
        const character = String.fromCharCode(byte);
        if ('"\\?'.includes(character)) return `\\${character}`;
        return byte >= 0x20 && byte < 0x7f ? character : `\\${byte.toString(8).padStart(3, '0')}`;
    });
    const lines = [];
    for (let i = 0; i < bytes.length; i += 100) lines.push(`    "${bytes.slice(i, i + 100).join('')}"`);
    return lines.join('\n');
}

const style = await bundle('page.css');
const script = await bundle('src/main.js');
const licence = readFileSync(join(packages, 'node_modules/uplot/LICENSE'), 'utf8').trim();

// Nothing is allowed but these two texts, the page's own icon, and questions to the page's own host.
const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
].join('; ');

const parts = { style: `<style>${style}</style>`, script: `<script>${script}</script>`, licence: `<!-- uPlot:\n${licence}\n-->` };
const page = readFileSync(source('page.html'), 'utf8').replace(/<!-- (style|script|licence) -->/g, (_, name) => parts[name]);
const [before, after] = page.split('STATUS_URI');

writeFileSync(output, `// Made by build.mjs.

#include "module/core/dashboard_page.hpp"

namespace tollgate {

const DashboardTemplate* dashboard_template() {
    static constexpr DashboardTemplate kTemplate{
${literal(before)},
${literal(after)},
${literal(policy)}};
    return &kTemplate;
}

}  // namespace tollgate
`);
