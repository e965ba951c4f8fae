//! Calls of tools in a program of either language.

use limbeck_domain::{ErrorKind, Language, ProgramError, Sites};

use crate::{python, typescript};

/// Finds the calls of tools in a program, as a worker does before it runs the program.
///
/// For measurements and tests. The gateway has a worker do this instead of parsing programs itself.
///
/// # Errors
///
/// A [`ProgramError`] of kind [`ErrorKind::Syntax`] when the program cannot be read, and of kind
/// [`ErrorKind::Request`] when it is too large.
pub fn call_sites(language: Language, program: &str) -> Result<Sites, ProgramError> {
    match language {
        Language::Typescript => Ok(typescript::prepare(program)?.sites),
        Language::Python => {
            let unreadable = || ProgramError::new(ErrorKind::Syntax, "no program in Python");
            python::sites(program, "[]").ok_or_else(unreadable)
        }
    }
}
