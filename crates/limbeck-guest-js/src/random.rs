//! Random numbers: ChaCha20 streams from the seed the host gave, so a replay draws the same.
//!
//! `Math.random` and `crypto` draw from two streams of the same key; how often a program calls one
//! does not shift the other.

use std::cell::RefCell;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Length of the seed.
pub(crate) const SEED_BYTES: usize = 32;

const MATH_STREAM: u64 = 0;
const CRYPTO_STREAM: u64 = 1;

thread_local! {
    static MATH: RefCell<ChaCha20Rng> = RefCell::new(stream([0; SEED_BYTES], MATH_STREAM));
    static CRYPTO: RefCell<ChaCha20Rng> = RefCell::new(stream([0; SEED_BYTES], CRYPTO_STREAM));
}

fn stream(seed: [u8; SEED_BYTES], number: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::from_seed(seed);
    rng.set_stream(number);
    rng
}

/// Starts both streams anew.
pub(crate) fn seed(seed: [u8; SEED_BYTES]) {
    MATH.set(stream(seed, MATH_STREAM));
    CRYPTO.set(stream(seed, CRYPTO_STREAM));
}

/// A number in `[0, 1)`: 53 random bits, all an IEEE double can hold.
pub(crate) fn unit() -> f64 {
    let bits = MATH.with_borrow_mut(|rng| rng.next_u64()) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// Fills `bytes` from the stream of `crypto`.
pub(crate) fn fill(bytes: &mut [u8]) {
    CRYPTO.with_borrow_mut(|rng| rng.fill_bytes(bytes));
}
