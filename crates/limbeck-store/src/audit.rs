//! The audit trail: what programs, people and the gateway did, as a chain of records that cannot be changed unseen.
//!
//! Triggers note each change of an execution, a journal or an approval in table `audit_note`. The transaction of the change
//! turns its notes into records of table `audit` before it commits ([`append`]). So there is no change without its record,
//! and no statement can forget it.
//!
//! A record is a line of JSON. Two chains run through the records, over the bytes of the lines as they are stored: one through
//! all, whose hashes are beside the lines, and one through those of each principal, whose hashes are in them
//! ([`chain`]). So an extract with the records of one principal can be checked alone. Arguments and results are in a record as
//! commitments: the hash of a random salt and the bytes. The salt is beside the line, because a bare hash of a short
//! text can be guessed, and can be erased without breaking a chain.
//!
//! A process that can write the state directory can rewrite the whole chain. [`check`] finds that only by what is kept
//! elsewhere.

mod append;
mod chain;
mod check;
mod newest;
mod record;

pub(crate) use append::append;
pub use chain::{AuditFault, AuditFaultKind};
pub use check::{AuditCheck, ExtractChain, ExtractCheck, check_extract};
pub(crate) use check::{check, export_line};
pub(crate) use newest::NewestFile;
