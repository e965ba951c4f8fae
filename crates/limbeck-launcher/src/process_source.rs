//! Source of worker processes, and the handle of one process. Both differ between operating systems.
//!
//! On Linux they are cloned from a zygote (`zygotes`). Elsewhere every worker is a child process of the
//! gateway, with nothing around it but that (`children`). Both modules have the same three names.

#[cfg(not(target_os = "linux"))]
mod children;
#[cfg(target_os = "linux")]
mod zygotes;

#[cfg(not(target_os = "linux"))]
pub(crate) use children::{Process, ProcessSource, Stream};
#[cfg(target_os = "linux")]
pub(crate) use zygotes::{Process, ProcessSource, Stream};
