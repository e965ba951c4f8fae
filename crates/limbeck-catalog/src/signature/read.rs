//! Reads a JSON Schema into a type tree.
//!
//! All keywords that a type can express are read, those of draft 7 and of 2020-12 alike. What a type
//! cannot express (lengths, patterns, `not`, `if`) is left out, so a type never refuses what the schema
//! accepts, with one convention: an object that says nothing of other properties has none. Most schemas
//! are written that way and mean that, and a misspelt name would go unnoticed otherwise.

use std::collections::{HashMap, HashSet};

use limbeck_domain::Language;
use serde_json::{Map, Value};

use super::bounds::{Bounds, Extent, Style};
use super::doc::doc;
use super::keywords::{
    combines, deserves_name, kind_of, name_of, parts, required_names, says_object,
};
use super::types::{Definition, Field, Object, Plain, Tree, Type};
use crate::names;
use crate::schema::{self, local_reference};

/// References followed inside one another before one is cut.
const REFERENCES_NESTED_MAX: usize = 32;
/// Schemas read inside one another, parts of the same value included; a schema without references, of at
/// most `limits::JSON_DEPTH_MAX` levels, has half as many.
const NESTED_MAX: usize = 128;
/// Bytes of an enumeration's value when many are shown, on average.
const VALUE_BYTES: usize = 16;
/// The media type of texts whose content has a type that is told.
const JSON: &str = "application/json";
/// Bytes told of that type; no more of it fits a declaration anyway.
const CONTENT_BYTES_MAX: usize = 16 << 10;
/// Bytes of a definition's name in a comment.
const NAME_BYTES_MAX: usize = 60;

/// Reads `schema`, itself the document its references point into. Comments are for readers of `language`.
pub(super) fn read(schema: &Value, extent: Extent, bounds: Bounds, language: Language) -> Tree {
    let mut reader = Reader {
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

struct Reader<'s> {
    root: &'s Value,
    extent: Extent,
    bounds: Bounds,
    language: Language,
    nodes_left: usize,
    /// Schemas being read, each inside the one before.
    nested: usize,
    /// References being followed, so that one inside itself is cut.
    references: Vec<&'s str>,
    /// Whether what is read lies inside an object or an array of the type that is being read. A name may
    /// stand there; elsewhere it could end up as its own definition.
    is_inside: bool,
    /// Places of definitions by their references.
    named: HashMap<&'s str, usize>,
    /// What the definitions are read from, in order.
    targets: Vec<(&'s str, &'s Value)>,
    ignores_siblings: bool,
}

impl<'s> Reader<'s> {
    fn read(&mut self, schema: &'s Value, depth: usize) -> Type {
        self.read_member(schema, depth, false)
    }

    /// Reads `schema`. `of_object`: it adds to one that is about an object.
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

    /// All keywords of a schema hold at once, so the type is the intersection of what each says.
    fn read_keywords(
        &mut self,
        schema: &'s Map<String, Value>,
        depth: usize,
        of_object: bool,
    ) -> Type {
        // A type that is one of several parts is written out, so that the parts can be made one.
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
        // One more than fits, so that the reader of the list sees that there are more.
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

    /// What `type` and the keywords that belong to one type say.
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
            // Which properties there are is said beside what says what they are.
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

    /// A text, with what it holds when that is JSON of a known type.
    fn read_string(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Type {
        let string = Type::Plain(Plain::String);
        let json = schema.get("contentMediaType").and_then(Value::as_str) == Some(JSON);
        let Some(content) = schema.get("contentSchema").filter(|_| json) else {
            return string;
        };
        // A type that has a name is no use in a comment.
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
        // A list of schemas under `items` is the older spelling of `prefixItems`.
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
            object.fields.push(Field {
                name: name.clone(),
                optional,
                kind: self.read_inside(property, depth),
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

    /// What a part of an object's schema says that only says which properties there are.
    fn read_required(&mut self, schema: &'s Map<String, Value>) -> Type {
        let required = required_names(schema);
        if required.is_empty() {
            return Type::Unknown(None);
        }
        let mut object = Object::default();
        self.add_required(&mut object, required.iter(), &Type::Unknown(None));
        Type::Object(object)
    }

    /// Adds properties of which is known that they are there, and their `kind`.
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

    /// The type of properties that are not named; `None` when there are none.
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
            // A reader knows that an object may have more than is said of it.
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

    /// Reads what an object or an array is made of.
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
