//! Writes a type tree as TypeScript.

use serde_json::Value;

use super::Style;
use super::types::{Field, Object, Plain, Type};
use crate::names;

/// Spaces of one level.
const INDENT: &str = "  ";

pub(super) fn text(kind: &Type, style: Style) -> String {
    let mut writer = Writer {
        text: String::new(),
        style,
        level: 0,
    };
    writer.write(kind, Place::Top);
    writer.text
}

/// What stands around a type, which decides on parentheses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    /// Inside an array or an intersection.
    Tight,
}

struct Writer {
    text: String,
    style: Style,
    level: usize,
}

impl Writer {
    fn write(&mut self, kind: &Type, place: Place) {
        match kind {
            Type::Unknown(None) => self.push("unknown"),
            Type::Unknown(Some(why)) => self.write_commented("unknown", why),
            Type::Never => self.push("never"),
            Type::Plain(plain) => self.push(word(*plain)),
            Type::Literal(value) => self.push(&literal(value)),
            Type::Commented(inner, comment) => {
                self.write(inner, Place::Tight);
                self.push(&format!(" /* {comment} */"));
            }
            Type::Array(item) => match &**item {
                Type::Unknown(Some(why)) => self.write_commented("unknown[]", why),
                item => {
                    self.write(item, Place::Tight);
                    self.push("[]");
                }
            },
            Type::Tuple(items, rest) => self.write_tuple(items, rest.as_deref()),
            Type::Object(object) => self.write_object(object),
            Type::Union(any) => self.write_joined(any, " | ", place, Place::Top),
            Type::Intersection(all) => self.write_joined(all, " & ", place, Place::Tight),
        }
    }

    fn write_commented(&mut self, name: &str, comment: &str) {
        self.push(&format!("{name} /* {comment} */"));
    }

    fn write_joined(&mut self, kinds: &[Type], between: &str, place: Place, inner: Place) {
        if place == Place::Tight {
            self.push("(");
        }
        for (at, kind) in kinds.iter().enumerate() {
            if at > 0 {
                self.push(between);
            }
            self.write(kind, inner);
        }
        if place == Place::Tight {
            self.push(")");
        }
    }

    fn write_tuple(&mut self, items: &[(Type, bool)], rest: Option<&Type>) {
        self.push("[");
        for (at, (item, present)) in items.iter().enumerate() {
            if at > 0 {
                self.push(", ");
            }
            self.write(item, Place::Tight);
            if !present {
                self.push("?");
            }
        }
        if let Some(rest) = rest {
            self.push(", ...");
            self.write(rest, Place::Tight);
            self.push("[]");
        }
        self.push("]");
    }

    fn write_object(&mut self, object: &Object) {
        match (&object.rest, object.fields.is_empty() && object.hidden == 0) {
            (Some(rest), true) => {
                self.push("Record<string, ");
                self.write(rest, Place::Top);
                self.push(">");
            }
            (None, true) => self.push("Record<string, never>"),
            (rest, false) => self.write_fields(object, rest.as_deref()),
        }
    }

    fn write_fields(&mut self, object: &Object, rest: Option<&Type>) {
        self.push("{");
        self.level += 1;
        for field in &object.fields {
            self.next_member();
            self.write_field(field);
        }
        if object.hidden > 0 {
            self.next_member();
            self.push(&format!(
                "[key: string]: unknown /* {} more */;",
                object.hidden
            ));
        } else if let Some(rest) = rest {
            self.next_member();
            self.push("[key: string]: ");
            self.write_rest(object, rest);
            self.push(";");
        }
        self.level -= 1;
        match self.style {
            Style::Line => {
                self.text.pop();
                self.push(" ");
            }
            Style::Block => self.new_line(),
        }
        self.push("}");
    }

    /// In TypeScript an index signature covers the named properties too, so only a wider type is true.
    fn write_rest(&mut self, object: &Object, rest: &Type) {
        if object
            .fields
            .iter()
            .all(|field| field.kind == *rest && !field.optional)
        {
            self.write(rest, Place::Top);
        } else {
            self.push("unknown /* others: ");
            let before = self.text.len();
            self.write(rest, Place::Top);
            let inner = self.text.split_off(before);
            self.push(&names::comment_line(
                &inner.replace("/* ", "").replace(" */", ""),
                200,
            ));
            self.push(" */");
        }
    }

    fn write_field(&mut self, field: &Field) {
        if self.style == Style::Block && !field.doc.is_empty() {
            self.push(&format!("/** {} */", field.doc));
            self.new_line();
        }
        self.push(&names::property_key(&field.name));
        self.push(if field.optional { "?: " } else { ": " });
        self.write(&field.kind, Place::Top);
        self.push(";");
    }

    fn next_member(&mut self) {
        match self.style {
            Style::Line => self.push(" "),
            Style::Block => self.new_line(),
        }
    }

    fn new_line(&mut self) {
        self.push("\n");
        for _ in 0..self.level {
            self.push(INDENT);
        }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

fn word(plain: Plain) -> &'static str {
    match plain {
        Plain::String => "string",
        Plain::Number | Plain::Integer => "number",
        Plain::Boolean => "boolean",
        Plain::Null => "null",
    }
}

fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => names::quoted(text),
        other => other.to_string(),
    }
}
