// cause: languages-and-countries render
// toLocaleString makes a formatter for each number.
class Table {
    constructor(count) {
        this.numbers = Array.from({length: count}, (_, i) => i * 1234.5);
    }

    label(number) {
        return number.toLocaleString('de-DE', {minimumFractionDigits: 2});
    }

    render() {
        return this.numbers.map(number => this.label(number)).join('\n');
    }
}

console.log(new Table(25000).render().length);
