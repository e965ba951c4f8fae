//! What an editor and a type checker need to know of the tools: a TypeScript declaration file, or a
//! package of Python stubs.
//!
//! The types are those of [`Tool::declaration`](crate::Tool::declaration) in full, with the same bounds.
//! Names and texts come from upstreams: they end up in quotes, in comments or, made into identifiers, as
//! names of types, and the paths of files are made of letters, digits and `_` alone.
//!
//! Start reading at [`render`].

mod python;
mod stub;
mod typescript;

use limbeck_domain::Language;

use crate::server::ServerTools;

/// Renders `servers` as files: paths relative to a directory, with `/`, and their texts.
///
/// TypeScript is one file, `limbeck.d.ts`, that declares the globals of a program. Python is a package
/// `limbeck_types` with a module for each server; nothing of it runs. Order and texts depend on the
/// servers alone.
pub fn render(servers: &[&ServerTools], language: Language) -> Vec<(String, String)> {
    match language {
        Language::Typescript => vec![("limbeck.d.ts".into(), typescript::file(servers))],
        Language::Python => python::package(servers),
    }
}
