//! One gateway for the clients of one user, each of which starts a process of its own.
//!
//! The first process serves itself and *offers* its gateway on a socket ([`Offer`]); later ones of the same configuration pass
//! the lines of their clients on to it ([`ClientPipe`]), with no gateway of their own. When the gateway is gone, the pipes
//! elect another, repeat what their clients sent the first one, and answer what was lost.
//!
//! **Who is let in.** The socket is in a directory that only its owner may enter. Both ends ask the system for the user of the
//! other and leave when it is another one, root included. The two also compare their whole identity, a hash of all that
//! decides what a gateway does: the file's name is a part of it only.
//!
//! **Who is elected.** The process that holds the lock on the file beside the socket. The system releases it when the process
//! ends, however it ends, so a socket without a listener is never in the way.
//!
//! Start reading at [`Meeting::join`].

mod bounded_lines;
mod client_pipe;
mod greeting;
mod meeting;
mod message;
mod offer;
mod remembered;

pub use client_pipe::{ClientPipe, PipeEnd};
pub use greeting::ask_health;
pub use meeting::{Joined, Meeting};
pub use offer::{Offer, OfferedGateway};
pub use remembered::LostExecution;
