//! Time to take 1,000 secrets out of a message of ten megabytes that has none: 200 MB/s are promised.

use std::hint::black_box;
use std::time::{Duration, Instant};

use limbeck_upstream::{Direction, Redaction};

use crate::report::{Report, percentile_90, sampled, shown};

/// Bytes of the message.
const BYTES: usize = 10_000_000;
/// Secrets, each of which has some ten forms.
const SECRETS: u32 = 1_000;

/// The time of one message.
pub(crate) fn redaction(report: &mut Report) {
    let redaction = Redaction::default();
    for number in 0..SECRETS {
        let secret = format!(
            "secret-{:08x}-{number:04}-of-a-server",
            number.wrapping_mul(0x9e37_79b1)
        );
        redaction.secrets().add_secret(&number.to_string(), &secret);
    }
    let mut message = String::with_capacity(BYTES + 200);
    message.push_str("{\"content\":[");
    let mut number = 0_u64;
    while message.len() < BYTES {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        message.push_str(&format!(
            "{{\"id\":{number},\"name\":\"user number {number}\",\"email\":\"u{number}@example.com\",\"hash\":\"{hash:016x}\"}},"
        ));
        number += 1;
    }
    message.push_str("null]}");
    // The first looks builds what finds them.
    assert_eq!(redaction.json(Direction::ToModel, &message), message);
    let samples = sampled(20, || {
        let started = Instant::now();
        black_box(redaction.json(Direction::ToModel, black_box(&message)));
        started.elapsed()
    });
    report.time(
        "redaction: 10 MB, 1,000 secrets",
        &samples,
        Some(Duration::from_millis(50)),
        format!("p90 {}", shown(percentile_90(&samples))),
    );
}
