//! Tests of the HTTP server over real sockets, mostly with handwritten bytes that no client library sends.
//!
//! Tests named `hNN` show the rows of that name in `docs/internals/bad-inputs.md`. Each rejected request is
//! accompanied by a correct one as a control, which is served.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails with the place"
)]

mod approvals;
mod bearer_tokens;
mod bodies;
mod hosts;
mod issuer;
mod limits;
mod operations;
mod protocol;
mod sessions;
mod support;
mod tls;
