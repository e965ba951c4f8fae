//! The first instance of a guest.

/// Makes the first instance of a guest.
///
/// Wasmtime stores its heap in a file of memory and seals it. Linux refuses to seal (`EBUSY`) while the kernel
/// holds a reference to one of the pages for a moment, so making it is tried three times.
pub(crate) fn first<T>(make: impl Fn() -> wasmtime::Result<T>) -> wasmtime::Result<T> {
    make().or_else(|_| make()).or_else(|_| make())
}
