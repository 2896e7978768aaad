// cause: tables-by-hash count
// Words are looked up in a hash table by a copy of each.
use std::collections::HashMap;
fn count(words: &[String]) -> usize { let mut m: HashMap<String, usize> = HashMap::new(); for w in words { *m.entry(w.clone()).or_insert(0) += 1; } m.len() }
fn main() { let words: Vec<String> = (0..200000).map(|i| format!("word number {}", i % 5000)).collect(); let mut t = 0; for _ in 0..25 { t += count(&words); } println!("{}", t); }
