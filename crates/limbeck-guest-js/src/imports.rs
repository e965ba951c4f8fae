//! Imports of the module: what the guest calls in its host.

#![expect(unsafe_code, reason = "imports take pointers into the guest's memory")]

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    fn call(id: u32, op: u32, head: *const u8, head_len: usize, body: *const u8, body_len: usize);
    fn log(stream: u32, text: *const u8, len: usize);
    fn done(kind: u32, text: *const u8, len: usize);
}

/// Makes one host call. The host copies both texts.
pub(crate) fn host_call(id: u32, op: u32, head: &str, body: &str) {
    // SAFETY: both ranges are live for the call and the host only reads them.
    unsafe { call(id, op, head.as_ptr(), head.len(), body.as_ptr(), body.len()) }
}

/// Prints one line on stdout (0) or stderr (1).
pub(crate) fn host_log(stream: u32, text: &str) {
    // SAFETY: the range is live for the call and the host only reads it.
    unsafe { log(stream, text.as_ptr(), text.len()) }
}

/// Ends the program; `kind` as in the crate's documentation.
pub(crate) fn host_done(kind: u32, text: &str) {
    // SAFETY: the range is live for the call and the host only reads it.
    unsafe { done(kind, text.as_ptr(), text.len()) }
}
