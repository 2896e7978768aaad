// cause: system-calls-write report
// Each line is written to a file without a buffer.
use std::io::Write;
struct Log {
    file: std::fs::File,
}
impl Log {
    #[inline(never)]
    fn report(&mut self, n: u64) {
        writeln!(self.file, "line number {n} of the report").unwrap();
    }
}
fn main() {
    let mut l = Log {
        file: std::fs::File::create("/dev/null").unwrap(),
    };
    for i in 0..2000000 {
        l.report(i);
    }
}
