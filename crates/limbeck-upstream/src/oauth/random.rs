//! Random words for states and file names.

/// 128 random bits in hexadecimal.
///
/// # Panics
///
/// When the operating system has no random numbers, which nothing survives.
pub(super) fn random_word() -> String {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
