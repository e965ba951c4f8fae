//! A program without its types, in the form that a journal has.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use limbeck_domain::limits::ERASED_BYTES_MAX;
use limbeck_domain::{ErasedProgram, RecordedErasure};

/// A program of this size is compressed: smaller ones are nearly all, and the journal stays readable.
const PLAIN_BYTES_MAX: usize = 16 << 10;
/// JSON text of the largest program: at worst six bytes for one, and the names of its fields.
const JSON_BYTES_MAX: u64 = 6 * ERASED_BYTES_MAX as u64 + (4 << 10);

/// Whether [`record`] has to compress a program.
pub(super) fn is_large(program: &ErasedProgram) -> bool {
    program.bytes() > PLAIN_BYTES_MAX
}

/// The program for the journal.
pub(super) fn record(program: ErasedProgram) -> RecordedErasure {
    if !is_large(&program) {
        return RecordedErasure::Plain(program);
    }
    match deflated(&program) {
        Some(text) => RecordedErasure::Deflated(text),
        None => RecordedErasure::Plain(program),
    }
}

/// The program of a journal; `None` when it is damaged.
pub(super) fn read(recorded: RecordedErasure) -> Option<ErasedProgram> {
    match recorded {
        RecordedErasure::Plain(program) => Some(program),
        RecordedErasure::Deflated(text) => inflated(&text),
    }
}

/// The script alone.
pub(crate) fn script(recorded: RecordedErasure) -> Option<String> {
    read(recorded).map(|program| program.script)
}

fn deflated(program: &ErasedProgram) -> Option<String> {
    let json = serde_json::to_vec(program).ok()?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&json).ok()?;
    Some(BASE64_STANDARD.encode(encoder.finish().ok()?))
}

fn inflated(text: &str) -> Option<ErasedProgram> {
    let packed = BASE64_STANDARD.decode(text).ok()?;
    let mut json = Vec::new();
    let mut decoder = DeflateDecoder::new(packed.as_slice()).take(JSON_BYTES_MAX + 1);
    decoder.read_to_end(&mut json).ok()?;
    (json.len() as u64 <= JSON_BYTES_MAX).then_some(())?;
    serde_json::from_slice(&json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(bytes: usize) -> ErasedProgram {
        ErasedProgram {
            script: "const a = 1;\n".repeat(bytes / 13),
            positions: "0;0;AAAA".to_owned(),
            full_names: "mcp__a__b mcp__a__c".to_owned(),
            warnings: vec!["w".to_owned()],
        }
    }

    #[test]
    fn a_small_program_is_recorded_as_it_is_and_a_large_one_smaller() {
        let small = program(1_000);
        assert_eq!(record(small.clone()), RecordedErasure::Plain(small));
        let large = program(100_000);
        let recorded = record(large.clone());
        assert!(matches!(recorded, RecordedErasure::Deflated(_)));
        assert!(recorded.bytes() < 10_000, "{}", recorded.bytes());
        assert_eq!(read(recorded), Some(large));
    }

    #[test]
    fn what_was_not_recorded_so_is_not_read() {
        let huge = ErasedProgram {
            script: "\0".repeat(ERASED_BYTES_MAX + 4_096),
            ..ErasedProgram::default()
        };
        let bomb = RecordedErasure::Deflated(deflated(&huge).unwrap());
        assert_eq!(read(bomb), None);
        for text in ["", "!", "AAAA"] {
            let damaged = RecordedErasure::Deflated(text.to_owned());
            assert_eq!(read(damaged), None, "{text}");
        }
    }
}
