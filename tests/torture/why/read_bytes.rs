// cause: system-calls-read read_word
// A file is read byte by byte, without a buffer.
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

struct Words {
    file: File,
}

impl Words {
    #[inline(never)]
    fn read_word(&mut self) -> Option<usize> {
        let mut byte = [0u8; 1];
        let mut length = 0;
        while self.file.read(&mut byte).unwrap() == 1 {
            if byte[0].is_ascii_whitespace() {
                return Some(length);
            }
            length += 1;
        }
        if length > 0 { Some(length) } else { None }
    }
}

fn main() {
    let mut words = Words { file: File::open("/etc/services").unwrap() };
    let mut longest = 0;
    for _ in 0..150 {
        words.file.seek(SeekFrom::Start(0)).unwrap();
        while let Some(length) = words.read_word() {
            longest = longest.max(length);
        }
    }
    println!("{longest}");
}
