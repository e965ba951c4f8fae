//! The vocabulary o200k_base in the form that the executable holds.
//!
//! `o200k_base.bin` has each token in the order of its rank: one byte with its length, then its bytes. The file of
//! `tiktoken-rs` writes tokens in base64 and numbers the lines, which takes more than twice as much.

use std::sync::LazyLock;

use tiktoken_rs::{CoreBPE, O200K_BASE_PAT_STR};

static BYTES: &[u8] = include_bytes!("o200k_base.bin");

/// The encoder, built at the first use. It knows no special tokens, which ordinary text does not have.
pub(super) static ENCODER: LazyLock<CoreBPE> = LazyLock::new(|| {
    let ranks = tokens().map(<[u8]>::to_vec).zip(0..).collect();
    CoreBPE::new(ranks, [].into_iter().collect(), O200K_BASE_PAT_STR)
        .expect("the pattern of the vocabulary is valid")
});

/// All tokens, in the order of their ranks.
fn tokens() -> impl Iterator<Item = &'static [u8]> {
    let mut rest = BYTES;
    std::iter::from_fn(move || {
        let (length, behind) = rest.split_first()?;
        let (token, behind) = behind.split_at_checked(usize::from(*length))?;
        rest = behind;
        Some(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vocabulary_is_the_one_of_the_library() {
        let library = tiktoken_rs::o200k_base_singleton();
        let mut ranks = 0;
        for (rank, token) in (0..).zip(tokens()) {
            assert_eq!(library.decode_bytes(&[rank]).unwrap(), token, "{rank}");
            ranks += 1;
        }
        assert_eq!(ranks, 199_998);
        // The next ranks are those of special tokens, or none.
        assert!(library.decode_bytes(&[ranks]).is_err());
    }
}
