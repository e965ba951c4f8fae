//! Conversion of a JSON Schema to a type tree.
//!
//! All keywords that a type can express are read, those of draft 7 and of 2020-12. Others (lengths, patterns, `not`, `if`)
//! are ignored, so a type never rejects a value that the schema accepts, with one exception: an object without
//! `additionalProperties` has no other properties. Most schemas are written without it and mean that, and a misspelled name
//! would go unnoticed otherwise.

use std::collections::{HashMap, HashSet};

use limbeck_domain::Language;
use serde_json::{Map, Value};

use super::bounds::{Bounds, Extent, Style};
use super::doc::doc;
use super::keywords::{
    combines, deserves_name, kind_of, name_of, parts, required_names, says_object,
};
use super::named_values::named_values;
use super::types::{Definition, Field, Object, Plain, Tree, Type};
use crate::names;
use crate::schema::{self, local_reference};

/// Most nested references before one is cut.
const REFERENCES_NESTED_MAX: usize = 32;
/// Most nested schemas, parts of the same value included. A schema without references, of at most
/// `limits::JSON_DEPTH_MAX` levels, has half as many.
const NESTED_MAX: usize = 128;
/// Average bytes of an enumeration's values when many are shown.
const VALUE_BYTES: usize = 16;
/// Media type of strings whose content has a type.
const JSON: &str = "application/json";
/// Most bytes of that type; more would not fit a declaration.
const CONTENT_BYTES_MAX: usize = 16 << 10;
/// Most bytes of a definition's name in a comment.
const NAME_BYTES_MAX: usize = 60;

/// Reads `schema`, which is also the document of its references. Comments have the syntax of `language`.
pub(super) fn read(schema: &Value, extent: Extent, bounds: Bounds, language: Language) -> Tree {
    let mut reader = TypeReader {
        root: schema,
        extent,
        bounds,
        language,
        nodes_left: bounds.nodes,
        nested: 0,
        references: Vec::new(),
        is_inside: false,
        named: HashMap::new(),
        targets: Vec::new(),
        ignores_siblings: schema::ignores_siblings_of_references(schema),
    };
    let kind = reader.read(schema, bounds.depth);
    let mut definitions = Vec::new();
    while let Some((reference, target)) = reader.targets.get(definitions.len()).copied() {
        reader.is_inside = false;
        reader.references.push(reference);
        let kind = reader.read(target, bounds.depth);
        reader.references.clear();
        definitions.push(Definition {
            name: name_of(reference).to_owned(),
            kind,
            doc: doc(target, bounds.doc_bytes, language),
        });
    }
    Tree { kind, definitions }
}

struct TypeReader<'s> {
    root: &'s Value,
    extent: Extent,
    bounds: Bounds,
    language: Language,
    nodes_left: usize,
    /// Number of nested schemas being read.
    nested: usize,
    /// References being followed, so that a recursive one is cut.
    references: Vec<&'s str>,
    /// Whether the current schema is inside an object or an array of the type that is being read. Only there may a
    /// reference become a name; elsewhere the name could be defined as itself.
    is_inside: bool,
    /// Positions of definitions, by their references.
    named: HashMap<&'s str, usize>,
    /// References and targets of the definitions, in order.
    targets: Vec<(&'s str, &'s Value)>,
    ignores_siblings: bool,
}

impl<'s> TypeReader<'s> {
    fn read(&mut self, schema: &'s Value, depth: usize) -> Type {
        self.read_member(schema, depth, false)
    }

    /// Reads `schema`. With `of_object` it extends a schema of an object.
    fn read_member(&mut self, schema: &'s Value, depth: usize, of_object: bool) -> Type {
        let Some(left) = self.nodes_left.checked_sub(1) else {
            return Type::cut("…");
        };
        if self.nested >= NESTED_MAX {
            return Type::cut("…");
        }
        self.nodes_left = left;
        self.nested += 1;
        let kind = match schema {
            Value::Object(schema) => self.read_keywords(schema, depth, of_object),
            Value::Bool(false) => Type::Never,
            Value::Bool(true)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Type::Unknown(None),
        };
        self.nested -= 1;
        kind
    }

    /// All keywords of a schema apply at once, so the type is the intersection of their types.
    fn read_keywords(
        &mut self,
        schema: &'s Map<String, Value>,
        depth: usize,
        of_object: bool,
    ) -> Type {
        // One of several parts is read in place and not named, so that the parts can be merged.
        let was_inside = self.is_inside;
        self.is_inside &= parts(schema) == 1;
        let kind = self.read_parts(schema, depth, of_object);
        self.is_inside = was_inside;
        match schema.get("nullable") {
            Some(Value::Bool(true)) => self.union(vec![kind, Type::Plain(Plain::Null)]),
            _ => kind,
        }
    }

    fn read_parts(
        &mut self,
        schema: &'s Map<String, Value>,
        depth: usize,
        of_object: bool,
    ) -> Type {
        let mut all = Vec::new();
        if let Some(Value::String(reference)) = schema.get("$ref") {
            all.push(self.read_reference(reference, depth));
            if self.ignores_siblings {
                return Type::intersection(all);
            }
        }
        if let Some(constant) = schema.get("const") {
            all.push(self.literal(constant));
        } else if let Some(Value::Array(values)) = schema.get("enum") {
            all.push(self.read_enum(values, schema.get("type")));
        } else {
            all.push(self.read_types(schema, depth, of_object));
        }
        let is_object = of_object || says_object(schema) || schema.contains_key("required");
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(schemas)) = schema.get(keyword) {
                let any = self.read_each(schemas, depth, is_object);
                all.push(self.union(any));
            }
        }
        if let Some(Value::Array(schemas)) = schema.get("allOf") {
            all.extend(self.read_each(schemas, depth, is_object));
        }
        Type::intersection(all)
    }

    fn read_each(&mut self, schemas: &'s [Value], depth: usize, of_object: bool) -> Vec<Type> {
        // One more than fits, so that the printer knows there are more.
        let some = schemas.iter().take(self.bounds.fields + 1);
        some.map(|schema| self.read_member(schema, depth, of_object))
            .collect()
    }

    fn read_reference(&mut self, reference: &'s str, depth: usize) -> Type {
        let name = names::comment_line(name_of(reference), NAME_BYTES_MAX);
        let Some(target) = local_reference(self.root, reference) else {
            return Type::cut(&format!("{name}, defined elsewhere"));
        };
        if self.is_inside && self.extent.style() == Style::Block && deserves_name(target) {
            let next = self.targets.len();
            let at = *self.named.entry(reference).or_insert(next);
            if at == next {
                self.targets.push((reference, target));
            }
            return Type::Named(at);
        }
        if self.references.contains(&reference) {
            return Type::cut(&format!("{name} again"));
        }
        if self.references.len() >= REFERENCES_NESTED_MAX {
            return Type::cut(&name);
        }
        self.references.push(reference);
        let kind = self.read(target, depth);
        self.references.pop();
        kind
    }

    fn read_enum(&mut self, values: &'s [Value], types: Option<&Value>) -> Type {
        let mut values: Vec<&Value> = values.iter().collect();
        if values.iter().any(|value| schema::is_of(value, types)) {
            values.retain(|value| schema::is_of(value, types));
        }
        let bytes: usize = values
            .iter()
            .map(|value| value.as_str().map_or(8, str::len))
            .sum();
        if values.len() <= self.bounds.values && bytes <= VALUE_BYTES * self.bounds.values {
            return self.union(values.iter().map(|value| self.literal(value)).collect());
        }
        let shown = values
            .iter()
            .take(8)
            .map(|value| names::comment_line(&value.to_string(), self.bounds.literal_bytes));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let mut kinds = Vec::new();
        for value in &values {
            let kind = kind_of(value);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let kind = self.union(kinds);
        Type::Commented(
            Box::new(kind),
            format!("one of {}: {shown}, …", values.len()),
        )
    }

    /// Type from `type` and the keywords of single types.
    fn read_types(
        &mut self,
        schema: &'s Map<String, Value>,
        depth: usize,
        of_object: bool,
    ) -> Type {
        match schema.get("type") {
            Some(Value::String(name)) => self.read_type(name, schema, depth),
            Some(Value::Array(types)) => {
                let types = types.iter().filter_map(Value::as_str).take(8);
                let any = types
                    .map(|name| self.read_type(name, schema, depth))
                    .collect();
                self.union(any)
            }
            _ if says_object(schema) => self.read_object(schema, depth),
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => {
                self.read_array(schema, depth)
            }
            // The properties are described by the schema that this one extends.
            _ if of_object || combines(schema) => self.read_required(schema),
            _ => Type::Unknown(None),
        }
    }

    fn read_type(&mut self, name: &str, schema: &'s Map<String, Value>, depth: usize) -> Type {
        match name {
            "string" => self.read_string(schema, depth),
            "number" => Type::Plain(Plain::Number),
            "integer" => Type::Plain(Plain::Integer),
            "boolean" => Type::Plain(Plain::Boolean),
            "null" => Type::Plain(Plain::Null),
            "object" => self.read_object(schema, depth),
            "array" => self.read_array(schema, depth),
            _ => Type::Unknown(None),
        }
    }

    /// String type, with the type of its content when that is JSON of a known type.
    fn read_string(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Type {
        let string = Type::Plain(Plain::String);
        let json = schema.get("contentMediaType").and_then(Value::as_str) == Some(JSON);
        let Some(content) = schema.get("contentSchema").filter(|_| json) else {
            return string;
        };
        // A comment cannot refer to a named type.
        let extent = std::mem::replace(&mut self.extent, Extent::Signature);
        let content = self.read(content, depth);
        self.extent = extent;
        let content = super::text(&content, Style::Line, self.language, &[]);
        let content = content.replace("/* ", "").replace(" */", "");
        Type::Commented(
            Box::new(string),
            format!("JSON: {}", names::comment_line(&content, CONTENT_BYTES_MAX)),
        )
    }

    fn read_array(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Type {
        let Some(depth) = depth.checked_sub(1) else {
            return Type::Array(Box::new(Type::cut("…")));
        };
        // A list of schemas under `items` is `prefixItems` of older drafts.
        let (prefix, items) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(prefix)), items) => (prefix.as_slice(), items),
            (_, Some(Value::Array(prefix))) => (prefix.as_slice(), schema.get("additionalItems")),
            (_, items) => (&[][..], items),
        };
        if prefix.is_empty() {
            let item = items.map_or(Type::Unknown(None), |items| self.read_inside(items, depth));
            return Type::Array(Box::new(item));
        }
        if prefix.len() > self.bounds.fields {
            return Type::Array(Box::new(Type::cut("…")));
        }
        let present = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let read = prefix
            .iter()
            .zip(0..)
            .map(|(item, at)| (self.read_inside(item, depth), at < present));
        let read = read.collect();
        let most = schema.get("maxItems").and_then(Value::as_u64);
        let is_full = most.is_some_and(|most| most <= prefix.len() as u64);
        let rest = match items {
            Some(Value::Bool(false)) => None,
            _ if is_full => None,
            Some(items) => Some(Box::new(self.read_inside(items, depth))),
            None => Some(Box::new(Type::Unknown(None))),
        };
        Type::Tuple(read, rest)
    }

    fn read_object(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Type {
        let properties = schema.get("properties").and_then(Value::as_object);
        let Some(depth) = depth.checked_sub(1) else {
            return match properties.map_or(0, Map::len) {
                0 => Type::any_object(),
                _ => Type::Commented(Box::new(Type::any_object()), "…".into()),
            };
        };
        let mut object = Object::default();
        let required = required_names(schema);
        let present: HashSet<&str> = required.iter().copied().collect();
        for (name, property) in properties.into_iter().flatten() {
            let optional = !present.contains(name.as_str());
            if object.fields.len() >= self.bounds.fields || self.nodes_left == 0 {
                object.hidden += 1;
                object.hidden_required |= !optional;
                continue;
            }
            let mut kind = self.read_inside(property, depth);
            if self.extent == Extent::Signature
                && kind == Type::Plain(Plain::String)
                && let Some(values) = properties.and_then(|all| named_values(property, all))
            {
                kind = Type::Commented(Box::new(kind), values);
            }
            object.fields.push(Field {
                name: name.clone(),
                optional,
                kind,
                doc: doc(property, self.bounds.doc_bytes, self.language),
            });
        }
        let rest = self.read_rest(schema, depth);
        let undescribed = rest.clone().unwrap_or(Type::Unknown(None));
        let described = |name: &str| properties.is_some_and(|map| map.contains_key(name));
        let missing = required.iter().filter(|name| !described(name));
        self.add_required(&mut object, missing, &undescribed);
        object.rest = rest.map(Box::new);
        Type::Object(object)
    }

    /// Type from a part of an object's schema that only lists which properties exist.
    fn read_required(&mut self, schema: &'s Map<String, Value>) -> Type {
        let required = required_names(schema);
        if required.is_empty() {
            return Type::Unknown(None);
        }
        let mut object = Object::default();
        self.add_required(&mut object, required.iter(), &Type::Unknown(None));
        Type::Object(object)
    }

    /// Adds required properties without a schema of their own, with type `kind`.
    fn add_required<'n>(
        &mut self,
        object: &mut Object,
        names: impl Iterator<Item = &'n &'n str>,
        kind: &Type,
    ) {
        for name in names {
            if object.fields.len() >= self.bounds.fields {
                object.hidden += 1;
                object.hidden_required = true;
                continue;
            }
            object.fields.push(Field {
                name: (*name).to_owned(),
                optional: false,
                kind: kind.clone(),
                doc: String::new(),
            });
        }
    }

    /// Type of unnamed properties; `None` when there are no such properties.
    fn read_rest(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Option<Type> {
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let patterns = patterns.filter(|patterns| !patterns.is_empty());
        let has_fields = |keyword: &str| {
            let fields = schema.get(keyword).and_then(Value::as_object);
            fields.is_some_and(|fields| !fields.is_empty())
        };
        let others = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => Type::Never,
            Some(Value::Object(rest)) if !rest.is_empty() => {
                self.read_inside(schema.get("additionalProperties")?, depth)
            }
            // One-line signatures leave out `additionalProperties: true` beside named properties to save room.
            Some(_) if self.extent.style() == Style::Line && has_fields("properties") => {
                Type::Never
            }
            None if patterns.is_some() || has_fields("properties") => Type::Never,
            Some(_) | None => Type::Unknown(None),
        };
        let mut kinds = vec![others];
        for kind in patterns.into_iter().flat_map(Map::values) {
            kinds.push(self.read_inside(kind, depth));
        }
        match self.union(kinds) {
            Type::Never => None,
            kind => Some(kind),
        }
    }

    /// Reads the members of an object or an array.
    fn read_inside(&mut self, schema: &'s Value, depth: usize) -> Type {
        let was_inside = std::mem::replace(&mut self.is_inside, true);
        let kind = self.read(schema, depth);
        self.is_inside = was_inside;
        kind
    }

    fn union(&self, any: Vec<Type>) -> Type {
        Type::union(any, self.bounds.fields.max(self.bounds.values))
    }

    fn literal(&self, value: &Value) -> Type {
        match value {
            Value::Bool(_) | Value::Number(_) => Type::Literal(value.clone()),
            Value::String(text) if text.len() <= self.bounds.literal_bytes => {
                Type::Literal(value.clone())
            }
            Value::String(text) => Type::Commented(
                Box::new(Type::Plain(Plain::String)),
                names::comment_line(text, self.bounds.literal_bytes),
            ),
            Value::Null | Value::Array(_) | Value::Object(_) => kind_of(value),
        }
    }
}
