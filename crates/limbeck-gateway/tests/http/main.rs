//! The server face over HTTP, by real sockets and mostly byte by byte: what a well-behaved client
//! library would never send is what counts here.
//!
//! Tests named `hNN` are the rows of that name of the catalogue of bad inputs. Each refusal stands
//! beside the same request as it should be, which is served.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the place"
)]

mod bodies;
mod issuer;
mod limits;
mod names;
mod operations;
mod protocol;
mod sessions;
mod support;
mod tls;
mod tokens;
