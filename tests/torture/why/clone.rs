// cause: copying-objects|copying-memory|allocating total
// A vector is cloned for each sum.
#[inline(never)]
fn total(rows: &Vec<u64>) -> u64 {
    let copy = rows.clone();
    copy[0] + copy[copy.len() / 2]
}

fn main() {
    let mut rows = vec![1u64; 100000];
    let mut sum = 0;
    for i in 0..8000 {
        rows[i % 100000] = i as u64;
        sum += total(&rows);
    }
    std::process::exit((sum == 42) as i32);
}
