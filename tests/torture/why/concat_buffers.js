// cause: copying-memory|growing-arrays|joining-text|copying-objects onData
// Buffer.concat copies all that has come for each piece.
class Body {
    constructor() {
        this.data = Buffer.alloc(0);
    }

    onData(piece) {
        this.data = Buffer.concat([this.data, piece]);
    }
}

const body = new Body();
const piece = Buffer.alloc(1000, 'x');
for (let i = 0; i < 2500; i++)
    body.onData(piece);
console.log(body.data.length);
