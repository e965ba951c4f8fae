//! The audit trail: what programs, people and the gateway did, as a chain of records that cannot be changed unseen.
//!
//! Triggers note each change of an execution, a journal or an approval in table `audit_note`. The transaction of the change
//! turns its notes into records of table `audit` before it commits ([`append`]). So there is no change without its record,
//! and no statement can forget it.
//!
//! A record is a line of JSON. Two chains run through the records, over the bytes of the lines as they are stored: one through
//! all, whose hashes are beside the lines, and one through those of each principal, whose hashes are in them
//! ([`chain`]). So an extract with the records of one principal can be checked alone. Arguments and results are in a record as
//! commitments: the hash of a random salt and the bytes, and so are words of people, whose text is beside the line. The salt is
//! beside it too, because a bare hash of a short text can be guessed. Both can be erased without breaking a chain ([`erase`]).
//!
//! A process that can write the state directory can rewrite the whole chain. [`check`] finds that only by what is kept
//! elsewhere.

mod append;
mod chain;
mod check;
mod checkpoint;
mod erase;
mod export;
mod newest;
mod noted;
mod record;
mod segments;

pub(crate) use append::{RecordKeeping, append};
pub use chain::{AuditFault, AuditFaultKind};
pub(crate) use check::check;
pub use check::{AuditCheck, ExtractChain, ExtractCheck, check_extract};
pub use checkpoint::{Checkpoints, KnownCheckpoints, NoteSigner, notes_file};
pub use erase::AuditErasure;
pub(crate) use erase::erase;
pub(crate) use export::export_line;
pub(crate) use newest::NewestFile;
pub(crate) use noted::RecordRate;
pub use noted::{AuditEvent, AuditEventKind};
