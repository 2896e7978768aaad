// cause: copying-objects|growing-arrays collect
// [...list, x] copies the list for each element.
function collect(rows) {
    return rows.reduce((list, row) => [...list, row.id], []);
}

function byName(rows) {
    return rows.reduce((all, row) => ({...all, [row.name]: row.id}), {});
}

const rows = Array.from({length: 14000}, (_, id) => ({id, name: 'n' + id % 60}));
console.log(collect(rows).length, Object.keys(byName(rows)).length);
