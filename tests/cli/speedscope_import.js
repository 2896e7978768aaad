// speedscope_import.js PACKAGE FILE [NAME]: what speedscope's own importer (the npm package, unpacked
// at PACKAGE) makes of a file. Prints a line a profile, "profile NAME<tab>UNIT<tab>WEIGHT", and one a
// frame, "self total name file line", of those that have any weight.
//
// The package holds the web page only. Its script is run with a document that does nothing, up to
// the function that the page gives dropped files to, whose name the bundler has kept.
'use strict';
const fs = require('fs'), path = require('path'), vm = require('vm');
const [folder, file, given] = process.argv.slice(2);

const release = path.join(folder, 'dist/release');
const script = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
const source = fs.readFileSync(path.join(release, script), 'utf8');
const entry = /importProfilesFromArrayBuffer:\(\)=>([\w$]+)/.exec(source);
const table = entry && new RegExp(`([\\w$]+)=\\{\\};[\\w$]+\\(\\1,\\{[^}]*importProfilesFromArrayBuffer`)
    .exec(source);
const load = table && new RegExp(`\\(([\\w$]+)\\(\\),${table[1].replace('$', '\\$')}\\)`).exec(source);
if (!load) {
    console.error('this release of speedscope has another shape');
    process.exit(77);
}

// Anything that is asked of the page is answered with itself.
const nothing = new Proxy(function () {}, {
    get: (_, key) => key === Symbol.toPrimitive ? () => '' : key === 'then' ? undefined
        : key === Symbol.iterator ? function* () {} : key === 'length' ? 0 : nothing,
    set: () => true, apply: () => nothing, construct: () => nothing,
});
const sandbox = {
    document: nothing, navigator: {userAgent: '', platform: ''}, location: {hash: '', protocol: ''},
    history: nothing, localStorage: nothing, requestAnimationFrame: () => 0, alert: console.error,
    addEventListener() {}, removeEventListener() {}, devicePixelRatio: 1, HTMLElement: class {},
    matchMedia: () => nothing, getComputedStyle: () => nothing, MutationObserver: class {},
    TextDecoder, TextEncoder, Blob, URL, setTimeout, clearTimeout, setInterval() {},
    performance, console: {log() {}, warn: console.error, error() {}}, Uint8Array, ArrayBuffer,
};
sandbox.window = sandbox.self = sandbox.globalThis = sandbox;
const call = `;globalThis.importFile=(...a)=>{${load[1]}();return ${entry[1]}(...a)};})();`;
vm.createContext(sandbox);
// Modules are functions that run when they are first asked for; the page itself, which would draw,
// follows the last of them.
const last = source.indexOf('}', source.indexOf(`${load[1]}=`, table.index));
vm.runInContext(source.slice(0, source.indexOf(';', last)) + call, sandbox);

(async () => {
    const bytes = fs.readFileSync(file);
    const buffer = new ArrayBuffer(bytes.length);
    new Uint8Array(buffer).set(bytes);
    const group = await sandbox.importFile(given || path.basename(file), buffer);
    if (!group) throw new Error('not recognised');
    for (const profile of group.profiles) {
        console.log(`profile ${profile.getName()}\t${profile.getWeightUnit()}\t${profile.getTotalWeight()}`);
        profile.forEachFrame((frame) => {
            const self = frame.getSelfWeight(), total = frame.getTotalWeight();
            if (self !== 0 || total !== 0)
                console.log([self, total, frame.name, frame.file || '', frame.line || 0].join('\t'));
        });
    }
})().catch((error) => { console.error(String(error)); process.exit(1); });
