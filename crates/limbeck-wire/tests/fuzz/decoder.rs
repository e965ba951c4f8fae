//! Fuzz target of the decoder: any bytes that arrive on a channel, in any pieces.
//!
//! The input has one byte for the direction, one for the size of the pieces, then the stream.

use std::fmt::Debug;

use limbeck_wire::{
    Frame, FrameReader, FromWorker, ToWorker, WireError, decode_from_worker, decode_to_worker,
    encode,
};

/// Bytes of the length prefix.
const HEADER_BYTES: usize = 4;

/// Reads `input` as a stream, whole and in pieces.
///
/// # Panics
///
/// When a property of the decoder is violated.
pub(crate) fn check(input: &[u8]) {
    let Some((&[direction, step], stream)) = input.split_first_chunk::<2>() else {
        return;
    };
    if direction & 1 == 0 {
        check_direction::<FromWorker>(stream, step, decode_from_worker);
    } else {
        check_direction::<ToWorker>(stream, step, decode_to_worker);
    }
}

type Decode<F> = fn(&[u8]) -> Result<F, WireError>;

fn check_direction<F: Frame + PartialEq + Debug>(stream: &[u8], step: u8, decode: Decode<F>) {
    let whole = read(stream, stream.len().max(1), decode);
    let pieces = read(stream, usize::from(step) + 1, decode);
    assert_eq!(
        whole, pieces,
        "the pieces a stream comes in make no difference"
    );
    for (frame, bytes) in whole.into_iter().flatten() {
        let again = encode(&frame, Vec::new()).expect("what was accepted is in its bounds");
        assert!(
            again.len() <= HEADER_BYTES + bytes,
            "our encoding is the shortest"
        );
        let decoded = decode(&again[HEADER_BYTES..]).expect("what we encode is accepted");
        assert_eq!(decoded, frame, "decoding what was encoded gives the same");
    }
}

/// Every frame of the stream with its length, up to the first that is refused.
fn read<F: Frame>(
    stream: &[u8],
    step: usize,
    decode: Decode<F>,
) -> Vec<Result<(F, usize), WireError>> {
    let mut reader = FrameReader::<F>::default();
    let mut seen = Vec::new();
    for piece in stream.chunks(step) {
        reader.push(piece);
        loop {
            let frame = match reader.next_frame() {
                Ok(None) => break,
                Ok(Some(bytes)) => decode(bytes).map(|frame| (frame, bytes.len())),
                Err(error) => {
                    assert_eq!(reader.next_frame(), Err(error), "a refusal stays");
                    Err(error)
                }
            };
            let refused = frame.is_err();
            seen.push(frame);
            if refused {
                return seen;
            }
        }
    }
    seen
}
