// otlp_dump.js PROTOBUFJS FILE: what protobufjs finds in OTLP profiles, after otlp.proto beside this
// script. A line a profile, "TYPE UNIT SAMPLES SUM", and one a function that a leaf is in,
// "TYPE SUM NAME".
'use strict';
const fs = require('fs'), path = require('path');
const [folder, file] = process.argv.slice(2);
const root = require(path.resolve(folder)).loadSync(path.join(__dirname, 'otlp.proto'));
const data = root.lookupType('otlp.ProfilesData').decode(fs.readFileSync(file));
const d = data.dictionary, text = (i) => d.stringTable[i];
for (const [name, table] of Object.entries(d.toJSON()))
    if (name === 'stringTable' ? table[0] !== '' : Object.keys(table[0]).length !== 0)
        throw new Error(`row 0 of ${name} is not the zero value`);
for (const resource of data.resourceProfiles)
    for (const scope of resource.scopeProfiles)
        for (const profile of scope.profiles) {
            const type = text(profile.sampleType.typeStrindex), leaves = {};
            let sum = 0;
            for (const sample of profile.samples) {
                const value = sample.values.reduce((a, v) => a + Number(v), 0);
                sum += value;
                const leaf = d.stackTable[sample.stackIndex].locationIndices[0];
                const line = leaf && d.locationTable[leaf].lines[0];
                const name = line ? text(d.functionTable[line.functionIndex].nameStrindex) : '?';
                leaves[name] = (leaves[name] || 0) + value;
            }
            console.log(type, text(profile.sampleType.unitStrindex), profile.samples.length, sum);
            for (const name of Object.keys(leaves).sort()) console.log(type, leaves[name], name);
        }
