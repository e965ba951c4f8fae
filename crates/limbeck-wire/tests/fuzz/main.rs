//! The fuzz targets as ordinary tests: on their seeds and on random bytes.
//!
//! `cargo xtask fuzz` runs the same two functions for any length of time, from the same seeds.

mod conversation;
mod decoder;
mod seeds;

use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use seeds::Seed;

/// Set by `cargo xtask fuzz --seeds`: the files are written instead of compared.
const WRITE_SEEDS: &str = "LIMBECK_WRITE_SEEDS";

/// A target: its name, its check and its seeds.
type Target = (&'static str, fn(&[u8]), Vec<Seed>);

fn targets() -> [Target; 2] {
    [
        ("frame_decoder", decoder::check, seeds::decoder()),
        ("conversation", conversation::check, seeds::conversation()),
    ]
}

fn seeds_of(target: &str) -> PathBuf {
    let wire = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    wire.join("../../fuzz/seeds").join(target)
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no arguments; the chore that writes the files says so by a variable"
)]
fn the_seeds_are_what_this_program_makes() {
    let write = std::env::var_os(WRITE_SEEDS).is_some();
    for (target, _, seeds) in targets() {
        let directory = seeds_of(target);
        if write {
            fs::create_dir_all(&directory).unwrap();
            for (name, bytes) in &seeds {
                fs::write(directory.join(name), bytes).unwrap();
            }
        }
        for (name, bytes) in &seeds {
            let file = fs::read(directory.join(name)).unwrap_or_default();
            assert!(
                file == *bytes,
                "{target}/{name} is stale; run `cargo xtask fuzz --seeds`"
            );
        }
        let files = fs::read_dir(&directory).unwrap().count();
        assert!(files >= seeds.len());
    }
}

/// Runs the seeds and every other file beside them: inputs that once failed are kept there.
#[test]
fn every_seed_passes_its_target() {
    for (target, check, seeds) in targets() {
        let files = fs::read_dir(seeds_of(target)).unwrap();
        let mut checked = 0;
        for file in files {
            check(&fs::read(file.unwrap().path()).unwrap());
            checked += 1;
        }
        assert!(checked >= seeds.len(), "{target}: {checked}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_pass_the_decoder(bytes in vec(any::<u8>(), 0..512)) {
        decoder::check(&bytes);
    }

    /// Valid headers, so that the decoder reaches the bodies.
    #[test]
    fn any_bodies_pass_the_decoder(
        direction in any::<u8>(),
        step in any::<u8>(),
        bodies in vec((prop_oneof![1..4_u8, 16..22_u8], vec(any::<u8>(), 0..64)), 1..8),
    ) {
        let mut input = vec![direction, step];
        for (kind, body) in bodies {
            input.extend((body.len() as u32 + 1).to_le_bytes());
            input.push(kind);
            input.extend(body);
        }
        decoder::check(&input);
    }

    #[test]
    fn any_sequence_passes_the_conversation(bytes in vec(any::<u8>(), 0..256)) {
        conversation::check(&bytes);
    }

    /// Begins with a started program, so that most sequences reach later states.
    #[test]
    fn any_sequence_passes_the_conversation_of_a_running_program(
        limits in any::<[u8; 3]>(),
        acts in vec(prop_oneof![Just(vec![5, 1]), vec(0..250_u8, 1..6)], 0..64),
    ) {
        let mut input = limits.to_vec();
        input.extend([2, 0, 0]);
        input.extend(acts.concat());
        conversation::check(&input);
    }
}
