//! Adaptation of arguments whose meaning is certain: a name in another style, and null for an argument that may be
//! left out.
//!
//! Models write `maxCount` for `max_count` as they write `readFile` for `read_file`, and `null` for "not given". Both are
//! changed only where the schema leaves one reading: no other name has the same letters, and null itself is refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Compiled;
use crate::names;

/// Keywords beside `additionalProperties` that may give a meaning to names that are not listed.
const OPENING: [&str; 9] = [
    "$ref",
    "allOf",
    "anyOf",
    "dependentSchemas",
    "if",
    "oneOf",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
];
/// Rounds in which nulls are removed: a check that is expensive reports one mismatch at a time.
const ROUNDS_MAX: usize = 16;

impl Compiled {
    /// Writes names as the schema lists them, and removes nulls that it refuses. Returns the pairs of a written and a listed
    /// name.
    pub(super) fn adapt(&self, arguments: &mut Value) -> Vec<(String, String)> {
        let renamed = self.rename(arguments);
        self.remove_refused_nulls(arguments, |_| true);
        renamed
    }

    /// Writes names as the schema lists them, in the order that the caller gave. Returns the pairs of a written and a listed
    /// name.
    pub(super) fn rename(&self, arguments: &mut Value) -> Vec<(String, String)> {
        let Some(arguments) = arguments.as_object_mut() else {
            return Vec::new();
        };
        let renamed = self.other_styles(arguments);
        if !renamed.is_empty() {
            let given = std::mem::take(arguments);
            arguments.extend(given.into_iter().map(|(name, value)| {
                let listed = renamed.iter().find(|(written, _)| *written == name);
                (listed.map_or(name, |(_, listed)| listed.clone()), value)
            }));
        }
        renamed
    }

    /// Removes those of the arguments that `may_be_removed` whose null the schema refuses.
    pub(super) fn remove_refused_nulls(
        &self,
        arguments: &mut Value,
        may_be_removed: impl Fn(&str) -> bool,
    ) {
        for _ in 0..ROUNDS_MAX {
            let nulls = self.refused_nulls(arguments, &may_be_removed);
            let Some(arguments) = arguments.as_object_mut().filter(|_| !nulls.is_empty()) else {
                break;
            };
            arguments.retain(|name, _| !nulls.contains(name));
        }
    }

    /// Names that are not listed, each with the one listed name that has the same letters and is not given.
    fn other_styles(&self, arguments: &Map<String, Value>) -> Vec<(String, String)> {
        let Some(listed) = self.properties() else {
            return Vec::new();
        };
        let mut meant: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for written in arguments.keys().filter(|name| !listed.contains_key(*name)) {
            let style = names::style(written);
            let free = listed.keys().filter(|name| !arguments.contains_key(*name));
            let mut fitting = free.filter(|name| !style.is_empty() && names::fold(name) == style);
            if let (Some(name), None) = (fitting.next(), fitting.next()) {
                meant.entry(name).or_default().push(written);
            }
        }
        let single = meant.into_iter().filter(|(_, written)| written.len() == 1);
        single
            .map(|(listed, written)| (written[0].to_owned(), listed.to_owned()))
            .collect()
    }

    /// Listed names when no other name has a meaning.
    pub(super) fn properties(&self) -> Option<&Map<String, Value>> {
        let schema = self.schema.as_object()?;
        let is_open = OPENING.iter().any(|keyword| schema.contains_key(*keyword))
            || schema
                .get("additionalProperties")
                .is_some_and(|additional| *additional != Value::Bool(false));
        schema.get("properties")?.as_object().filter(|_| !is_open)
    }

    /// Whether a call without the argument is refused.
    pub(super) fn requires(&self, name: &str) -> bool {
        let required = self.schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten();
        required.any(|required| required.as_str() == Some(name))
    }

    fn refused_nulls(
        &self,
        arguments: &Value,
        may_be_removed: &impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let is_null = |name: &str| arguments.get(name).is_some_and(Value::is_null);
        let has_null = arguments.as_object().is_some_and(|arguments| {
            let mut given = arguments.iter();
            given.any(|(name, value)| value.is_null() && may_be_removed(name))
        });
        if !has_null {
            return Vec::new();
        }
        let errors = self.errors(arguments);
        let places = errors.iter().filter_map(|error| {
            let place = error.instance_path().as_str().strip_prefix('/')?;
            (!place.contains('/')).then(|| place.replace("~1", "/").replace("~0", "~"))
        });
        places
            .filter(|name| is_null(name) && may_be_removed(name) && !self.requires(name))
            .collect()
    }
}
