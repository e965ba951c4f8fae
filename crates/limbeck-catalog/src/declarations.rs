//! Declarations of the tools for editors and type checkers: a TypeScript declaration file, or a package of Python stubs.
//!
//! The types are those of [`Tool::declaration`](crate::Tool::declaration) in full. Names and texts come from
//! upstreams: they are written in quotes, in comments or, converted to identifiers, as names of types. Paths of files
//! consist of letters, digits and `_`.
//!
//! Start reading at [`render`].

mod python;
mod stub;
mod typescript;
mod wrappers;

use limbeck_domain::Language;

use crate::server::ServerTools;
pub use wrappers::{WrapperCommand, wrapper, wrapper_file};

/// Renders `servers` as files: paths relative to a directory, with `/`, and their texts.
///
/// TypeScript is one file, `limbeck.d.ts`, that declares the globals of a program. Python is a package
/// `limbeck_types` with a module for each server, and is never executed. Order and texts depend only on the
/// servers.
pub fn render(servers: &[&ServerTools], language: Language) -> Vec<(String, String)> {
    match language {
        Language::Typescript => vec![("limbeck.d.ts".into(), typescript::file(servers))],
        Language::Python => python::package(servers),
    }
}
