// cause: moving-elements next_job
// The first element of a Vec is removed, which moves all others.
struct Jobs {
    waiting: Vec<u64>,
}

impl Jobs {
    #[inline(never)]
    fn next_job(&mut self) -> Option<u64> {
        if self.waiting.is_empty() { None } else { Some(self.waiting.remove(0)) }
    }
}

fn main() {
    let mut jobs = Jobs { waiting: (0..130_000).collect() };
    let mut sum = 0u64;
    while let Some(job) = jobs.next_job() {
        sum ^= job;
    }
    println!("{sum}");
}
