//! Type of a JSON text, made of some of its items and members.

use std::fmt::{self, Write as _};

use super::{items, members};

/// Items of an array that its type is made of, evenly spread.
const TYPED_ITEMS: usize = 24;
/// Members of an object that its type names.
const TYPED_MEMBERS: usize = 24;
/// Levels of a type.
const TYPED_DEPTH: usize = 5;

/// The type of a JSON value, in the notation of TypeScript: of arrays what some items have in common.
pub(crate) fn shape(json: &str) -> String {
    let mut shape = Shape::default();
    shape.observe(json, 0);
    let mut out = String::new();
    // Writing into a text cannot fail.
    let _ = shape.write(&mut out);
    out
}

/// What was seen of the values in one place.
#[derive(Default)]
struct Shape {
    null: bool,
    boolean: bool,
    number: bool,
    text: bool,
    items: Option<Box<Shape>>,
    object: Option<Fields>,
    /// Something deeper than is looked at.
    any: bool,
}

#[derive(Default)]
struct Fields {
    objects: usize,
    /// Name, in how many objects, what.
    named: Vec<(String, usize, Shape)>,
    more: bool,
}

impl Shape {
    fn observe(&mut self, json: &str, depth: usize) {
        match json.as_bytes().first() {
            Some(b'n') => self.null = true,
            Some(b't' | b'f') => self.boolean = true,
            Some(b'"') => self.text = true,
            Some(b'[' | b'{') if depth >= TYPED_DEPTH => self.any = true,
            Some(b'[') => {
                let items_of = self.items.get_or_insert_default();
                let count = items(json, |_| false).map_or(0, |(count, _)| count);
                let step = count.div_ceil(TYPED_ITEMS).max(1);
                let wanted = |at: usize| at.is_multiple_of(step) || at + 1 == count;
                for (_, item) in items(json, wanted)
                    .map(|(_, picked)| picked)
                    .unwrap_or_default()
                {
                    items_of.observe(item.get(), depth + 1);
                }
            }
            Some(b'{') => {
                let fields = self.object.get_or_insert_default();
                fields.observe(json, depth);
            }
            _ => self.number = true,
        }
    }

    fn kinds(&self) -> usize {
        let plain = [self.null, self.boolean, self.number, self.text, self.any];
        let plain = plain.into_iter().filter(|seen| *seen).count();
        plain + usize::from(self.items.is_some()) + usize::from(self.object.is_some())
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        let mut first = true;
        let mut or = |out: &mut String| {
            if !std::mem::take(&mut first) {
                out.push_str(" | ");
            }
        };
        if let Some(fields) = &self.object {
            or(out);
            fields.write(out)?;
        }
        if let Some(items) = &self.items {
            or(out);
            let mut item = String::new();
            items.write(&mut item)?;
            if items.kinds() > 1 {
                write!(out, "({item})[]")?;
            } else {
                write!(out, "{item}[]")?;
            }
        }
        for (seen, name) in [
            (self.text, "string"),
            (self.number, "number"),
            (self.boolean, "boolean"),
            (self.any, "any"),
            (self.null, "null"),
        ] {
            if seen {
                or(out);
                out.push_str(name);
            }
        }
        if first {
            out.push_str("never");
        }
        Ok(())
    }
}

impl Fields {
    fn observe(&mut self, json: &str, depth: usize) {
        self.objects += 1;
        let Some((count, members)) = members(json, TYPED_MEMBERS) else {
            return;
        };
        self.more |= count > members.len();
        for (key, value) in members {
            let place = match self.named.iter().position(|(name, ..)| *name == key) {
                Some(place) => place,
                None if self.named.len() < TYPED_MEMBERS => {
                    self.named.push((key, 0, Shape::default()));
                    self.named.len() - 1
                }
                None => {
                    self.more = true;
                    continue;
                }
            };
            let (_, seen, shape) = &mut self.named[place];
            *seen += 1;
            shape.observe(value.get(), depth + 1);
        }
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        if self.named.is_empty() && !self.more {
            out.push_str("{}");
            return Ok(());
        }
        out.push_str("{ ");
        for (at, (name, seen, shape)) in self.named.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if plain && name.len() <= 64 {
                out.push_str(name);
            } else {
                let name = limbeck_domain::text::clean_line(name, 64);
                write!(out, "{}", serde_json::Value::from(name))?;
            }
            out.push_str(if *seen < self.objects { "?: " } else { ": " });
            shape.write(out)?;
        }
        if self.more {
            out.push_str(if self.named.is_empty() {
                "…"
            } else {
                ", …"
            });
        }
        out.push_str(" }");
        Ok(())
    }
}
