//! Classes of tools that the user confirmed, written into the user's own file.

use limbeck_domain::{EffectClass, ToolId};
use toml_edit::{Item, Table};

use super::{OwnFile, OwnFileError};

impl OwnFile<'_> {
    /// Writes the class of each tool into `[policy.classes]`, and returns how many are new. What the file says of a tool stays.
    ///
    /// # Errors
    ///
    /// [`OwnFileError`]; the file is as it was.
    pub fn classify(&self, classes: &[(ToolId, EffectClass)]) -> Result<usize, OwnFileError> {
        let is_plain = |name: &str| {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            !name.is_empty() && name.bytes().all(is_word)
        };
        let is_alone = |tool: &ToolId| is_plain(tool.server.as_str()) && is_plain(&tool.tool);
        if !classes.iter().all(|(tool, _)| is_alone(tool)) {
            return Err(self.refused("a pattern would not name the tool alone"));
        }
        let mut written = 0;
        self.change(|document| {
            let mut section = Table::new();
            if !document.is_empty() {
                section.decor_mut().set_prefix("\n");
            }
            let policy = document.entry("policy").or_insert_with(|| {
                let mut table = Table::new();
                // No line of its own: only `[policy.classes]` is written.
                table.set_implicit(true);
                Item::Table(table)
            });
            let Some(policy) = policy.as_table_mut() else {
                return Err(self.refused("`policy` is a table in one line"));
            };
            let table = policy.entry("classes").or_insert(Item::Table(section));
            let table = table
                .as_table_like_mut()
                .ok_or_else(|| self.refused("`policy.classes` is not a table"))?;
            for (tool, class) in classes {
                let key = tool.to_string();
                if !table.contains_key(&key) {
                    table.insert(&key, toml_edit::value(class.as_str()));
                    written += 1;
                }
            }
            Ok(Vec::new())
        })?;
        Ok(written)
    }
}
