//! Check of a change before it is written: the new text means what was intended and nothing else.

use std::collections::BTreeMap;

use super::splice::Change;
use super::table::Form;
use crate::document::{self, ConfigPlace};

/// Compares both texts as documents.
///
/// # Errors
///
/// That the change cannot be made by a program.
pub(super) fn is_as_intended(
    before: &str,
    after: &str,
    form: Form,
    change: &Change<'_>,
) -> Result<(), String> {
    let refused = || "it cannot be changed without a change of something else".to_owned();
    let old = outline(before, form);
    let new = outline(after, form).ok_or_else(refused)?;
    // An empty file becomes one with the entry alone.
    let (rest, mut entries) = old.unwrap_or_else(|| (new.0.clone(), BTreeMap::new()));
    for name in &change.removed {
        entries.remove(*name);
    }
    let added = change.added.iter().map(|(name, _)| *name);
    let mut found = new.1;
    for name in added {
        if found.remove(name).is_none() {
            return Err(refused());
        }
        entries.remove(name);
    }
    if rest == new.0 && entries == found {
        Ok(())
    } else {
        Err(refused())
    }
}

/// The canonical form of a document without its servers, and of each server.
fn outline(text: &str, form: Form) -> Option<(String, BTreeMap<String, String>)> {
    let node = document::parse(text, form.syntax()).ok()?;
    let root = ConfigPlace::root(&node);
    let rest = node.canonical_without(form.path_of(&root));
    let servers = form.servers(&root).ok()?;
    let entries = servers.map(|servers| servers.entries()).transpose().ok()?;
    let entries = entries.unwrap_or_default().into_iter();
    let entries = entries.map(|(name, place)| (name.to_owned(), place.canonical()));
    Some((rest, entries.collect()))
}
