// cause: decoding-text is_palindrome
// chars().nth(i) walks the text from its beginning.
#[inline(never)]
fn is_palindrome(text: &str) -> bool {
    let count = text.chars().count();
    (0..count / 2).all(|i| text.chars().nth(i) == text.chars().nth(count - 1 - i))
}

fn main() {
    let half: String = "abcdefghij".repeat(1500);
    let back: String = half.chars().rev().collect();
    let text = half + &back;
    let mut found = 0;
    for _ in 0..12 {
        found += is_palindrome(&text) as u32;
    }
    println!("{found}");
}
