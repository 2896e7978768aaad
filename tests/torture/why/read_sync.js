// cause: whole-files
// A file is read for each request.
const fs = require('fs');

class Pages {
    template(name) {
        return fs.readFileSync(name, 'utf8');
    }

    show(user) {
        return this.template(__filename).replace('USER', user).length;
    }
}

const pages = new Pages();
let size = 0;
for (let i = 0; i < 40000; i++)
    size += pages.show('user' + i);
console.log(size);
