// make.js PROTOBUFJS OUT...: the goldens of this folder, encoded by protobufjs after
// tests/cli/otlp.proto: node make.js build-test/npm/node_modules/protobufjs .
'use strict';
const fs = require('fs'), path = require('path');
const [folder, out] = process.argv.slice(2);
const root = require(path.resolve(folder)).loadSync(path.join(__dirname, '../../cli/otlp.proto'));
const Data = root.lookupType('otlp.ProfilesData');

function write(name, data) {
    fs.writeFileSync(path.join(out, name), Data.encode(Data.fromObject(data)).finish());
}

const strings = ['', 'cpu', 'nanoseconds', 'samples', 'count', '/bin/work', 'main', 'work.c', 'step',
    '_Z4stepv', 'thread.name', 'process.executable.build_id.gnu', 'size', 'bytes', 'ok', 'ratio'];
const dictionary = {
    stringTable: strings,
    mappingTable: [{}, {memoryStart: 0x400000, memoryLimit: 0x500000, fileOffset: 0x1000,
        filenameStrindex: 5, attributeIndices: [1]}],
    functionTable: [{}, {nameStrindex: 6, filenameStrindex: 7, startLine: 3},
        {nameStrindex: 8, systemNameStrindex: 9, filenameStrindex: 7, startLine: 20}],
    locationTable: [{}, {mappingIndex: 1, address: 0x401000, lines: [{functionIndex: 1, line: 5}]},
        {mappingIndex: 1, address: 0x402000,
            lines: [{functionIndex: 2, line: 22, column: 4}, {functionIndex: 1, line: 6}]},
        {mappingIndex: 1, address: 0x403000}],
    stackTable: [{}, {locationIndices: [2, 1]}, {locationIndices: [3, 1]}, {locationIndices: [1]}],
    linkTable: [{}, {traceId: Buffer.from('0123456789abcdef0123456789abcdef', 'hex'),
        spanId: Buffer.from('fedcba9876543210', 'hex')}],
    attributeTable: [{}, {keyStrindex: 11, value: {stringValue: 'c0ffee'}},
        {keyStrindex: 10, value: {stringValue: 'main thread'}},
        {keyStrindex: 12, value: {intValue: 4096}, unitStrindex: 13},
        {keyStrindex: 14, value: {boolValue: true}}, {keyStrindex: 15, value: {doubleValue: 0.5}}],
};
const head = {timeUnixNano: '1700000000000000000', durationNano: 2000000000,
    periodType: {typeStrindex: 1, unitStrindex: 2}, period: 10000000,
    profileId: Buffer.alloc(16, 7)};

// Two events, added-up samples, labels of every kind and a link.
write('events.otlp', {dictionary, resourceProfiles: [{scopeProfiles: [{profiles: [
    {...head, sampleType: {typeStrindex: 3, unitStrindex: 4}, samples: [
        {stackIndex: 1, values: [3], attributeIndices: [2, 3]},
        {stackIndex: 2, values: [1], linkIndex: 1, attributeIndices: [4, 5]},
        {stackIndex: 3, values: [2]}]},
    {...head, sampleType: {typeStrindex: 1, unitStrindex: 2}, samples: [
        {stackIndex: 1, values: [30000000], attributeIndices: [2, 3]},
        {stackIndex: 2, values: [10000000], linkIndex: 1, attributeIndices: [4, 5]},
        {stackIndex: 3, values: [20000000]}]}]}]}]});

// Timestamps alone, and with values; two resources.
write('times.otlp', {dictionary, resourceProfiles: [
    {resource: {attributes: [{key: 'service.name', value: {stringValue: 'shop'}}]},
        scopeProfiles: [{scope: {name: 'profiler'}, profiles: [
            {...head, sampleType: {typeStrindex: 3, unitStrindex: 4}, samples: [
                {stackIndex: 1, timestampsUnixNano: ['1700000000000000005', '1700000000000000009']}]}]}]},
    {resource: {attributes: [{key: 'process.pid', value: {intValue: 12}}]},
        scopeProfiles: [{profiles: [
            {...head, sampleType: {typeStrindex: 3, unitStrindex: 4}, samples: [
                {stackIndex: 2, timestampsUnixNano: ['1700000000000000001'], values: [4]}]}]}]}]});
