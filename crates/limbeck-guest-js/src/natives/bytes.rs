//! Random bytes, digests and base64.

use rquickjs::{ArrayBuffer, Ctx, Exception, Object, String as JsString, TypedArray};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::add;
use crate::random;

/// Bytes one `crypto.getRandomValues` call may ask for, as the Web Crypto specification has it.
const RANDOM_BYTES_MAX: usize = 65_536;

pub(super) fn add_to(natives: &Object<'_>) -> rquickjs::Result<()> {
    add(natives, "randomBytes", random_bytes)?;
    add(natives, "digest", digest)
}

/// A copy of the bytes an array holds now; empty when its buffer is detached.
pub(super) fn copy_of(array: &TypedArray<'_, u8>) -> Vec<u8> {
    #[expect(
        unsafe_code,
        reason = "the binding lends a view into the script's buffer"
    )]
    // SAFETY: no script runs between the loan and the copy, so nothing moves or writes the bytes.
    let bytes = unsafe { array.as_bytes() };
    bytes.unwrap_or_default().to_vec()
}

fn random_bytes(ctx: Ctx<'_>, len: usize) -> rquickjs::Result<ArrayBuffer<'_>> {
    let mut bytes = vec![0; len.min(RANDOM_BYTES_MAX)];
    random::fill(&mut bytes);
    ArrayBuffer::new(ctx, bytes)
}

/// Hashes `data` with `SHA-1`, `SHA-256`, `SHA-384` or `SHA-512`.
fn digest<'js>(
    ctx: Ctx<'js>,
    algorithm: JsString<'js>,
    data: TypedArray<'js, u8>,
) -> rquickjs::Result<ArrayBuffer<'js>> {
    let data = copy_of(&data);
    let hash = match &*algorithm.to_cstring()? {
        "SHA-1" => Sha1::digest(&data).to_vec(),
        "SHA-256" => Sha256::digest(&data).to_vec(),
        "SHA-384" => Sha384::digest(&data).to_vec(),
        "SHA-512" => Sha512::digest(&data).to_vec(),
        other => {
            return Err(Exception::throw_message(
                &ctx,
                &format!("no digest `{other}`"),
            ));
        }
    };
    ArrayBuffer::new(ctx, hash)
}
