//! Where workers come from, and the handle of one: what is different on every system.
//!
//! On Linux they are cloned from a zygote (`zygotes`). Elsewhere every worker is a child process of the
//! gateway, with nothing around it but that (`children`). Both modules have the same three names.

#[cfg(not(target_os = "linux"))]
mod children;
#[cfg(target_os = "linux")]
mod zygotes;

#[cfg(not(target_os = "linux"))]
pub(crate) use children::{Origin, Process, Stream};
#[cfg(target_os = "linux")]
pub(crate) use zygotes::{Origin, Process, Stream};
