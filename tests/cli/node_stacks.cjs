'use strict';

function inner(P) { return P.commonjs() + 1 }
exports.run = function run(P) { return inner(P) + 1 };
