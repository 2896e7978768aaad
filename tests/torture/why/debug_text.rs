// cause: formatting-text fingerprint
// A record is turned into text with {:?} to compare it.
#[derive(Debug)]
#[allow(dead_code)]
struct Record {
    id: u32,
    name: String,
    tags: Vec<u32>,
}

trait Fingerprint {
    fn fingerprint(&self) -> u64;
}

impl Fingerprint for Record {
    #[inline(never)]
    fn fingerprint(&self) -> u64 {
        let text = format!("{:?}", self);
        text.bytes().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte as u64))
    }
}

fn main() {
    let records: Vec<Record> =
        (0..500).map(|id| Record { id, name: format!("name {id}"), tags: vec![id, id + 1, id + 2] }).collect();
    let mut sum = 0u64;
    for _ in 0..1200 {
        for record in &records {
            sum ^= record.fingerprint();
        }
    }
    println!("{sum}");
}
