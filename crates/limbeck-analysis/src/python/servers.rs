//! Aliases of servers, made by the rules of the earlier Python system. The guest's `aliases.py` has the same rules.

use std::collections::HashMap;

use serde::Deserialize;

/// The servers that a program may name, by their aliases.
#[derive(Default)]
pub(super) struct ServerAliases {
    by_alias: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
}

impl ServerAliases {
    /// Reads the list that the gateway gives a program.
    pub(super) fn new(json: &str) -> Self {
        let servers: Vec<Server> = serde_json::from_str(json).unwrap_or_default();
        let mut by_alias = HashMap::new();
        for Server { name } in servers {
            let base = alias_of(&name);
            let mut alias = base.clone();
            let mut number = 2;
            while by_alias.contains_key(&alias) {
                alias = format!("{base}_{number}");
                number += 1;
            }
            by_alias.insert(alias, name);
        }
        Self { by_alias }
    }

    pub(super) fn by_alias(&self, alias: &str) -> Option<&str> {
        self.by_alias.get(alias).map(String::as_str)
    }
}

/// Lower case, runs of other characters as `_`, and `_` before a leading digit.
fn alias_of(name: &str) -> String {
    let mut alias = String::with_capacity(name.len());
    let mut other = false;
    for letter in name.to_lowercase().chars() {
        let keeps = matches!(letter, 'a'..='z' | '0'..='9' | '_');
        if keeps {
            alias.push(letter);
        } else if !other {
            alias.push('_');
        }
        other = !keeps;
    }
    if alias.is_empty() || alias.starts_with(|first: char| first.is_ascii_digit()) {
        alias.insert(0, '_');
    }
    alias
}
