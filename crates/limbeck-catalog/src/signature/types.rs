//! Reads a JSON Schema into a type tree.

use limbeck_domain::Language;
use serde_json::{Map, Value};

use super::Style;
use super::doc::doc;
use crate::names;
use crate::schema::local_reference;

/// References followed inside one another before one is cut.
const REFERENCES_NESTED_MAX: usize = 32;
/// Bytes of a literal value in a type.
const LITERAL_BYTES_MAX: usize = 80;

/// Bytes of an enumeration's value when many are shown, on average.
const VALUE_BYTES: usize = 16;

/// The media type of texts whose content has a type that is told.
const JSON: &str = "application/json";
/// Bytes told of that type; no more of it fits a declaration anyway.
const CONTENT_BYTES_MAX: usize = 16 << 10;

/// The type of a value, in words that every language has its own for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Anything, with a comment on why when something was left out.
    Unknown(Option<String>),
    /// Nothing.
    Never,
    /// A value without parts.
    Plain(Plain),
    /// This very value: a boolean, a number or a text.
    Literal(Value),
    /// A type and what its values look like.
    Commented(Box<Type>, String),
    Array(Box<Type>),
    /// Items in place, each present or not, and the type of those that follow.
    Tuple(Vec<(Type, bool)>, Option<Box<Type>>),
    Object(Object),
    Union(Vec<Type>),
    Intersection(Vec<Type>),
}

/// A type whose values have no parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    String,
    Number,
    /// A number without a fraction.
    Integer,
    Boolean,
    Null,
}

/// An object type.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) fields: Vec<Field>,
    /// Type of the properties that are not named, when the schema says one.
    pub(crate) rest: Option<Box<Type>>,
    /// Properties left out.
    pub(crate) hidden: usize,
    /// Whether one of those is required.
    hidden_required: bool,
}

/// One property.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) optional: bool,
    pub(crate) kind: Type,
    /// Comment on one line; empty when there is nothing to say.
    pub(crate) doc: String,
}

/// How much of a schema is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    depth: usize,
    nodes: usize,
    fields: usize,
    values: usize,
    doc_bytes: usize,
}

impl Bounds {
    /// Levels of objects and arrays, types in all, properties and alternatives of one type, values
    /// of an enumeration, bytes of a property's comment (zero: no comments).
    pub(super) const fn new(
        depth: usize,
        nodes: usize,
        fields: usize,
        values: usize,
        doc_bytes: usize,
    ) -> Self {
        Self {
            depth,
            nodes,
            fields,
            values,
            doc_bytes,
        }
    }
}

impl Object {
    /// Whether it is known to have no properties.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.rest.is_none() && self.hidden == 0
    }
}

impl Type {
    pub(super) fn cut(why: &str) -> Self {
        Self::Unknown(Some(why.to_owned()))
    }

    fn any_object() -> Self {
        Self::Object(Object {
            rest: Some(Box::new(Self::Unknown(None))),
            ..Object::default()
        })
    }

    /// Arguments are an object whatever the schema leaves open.
    pub(super) fn as_arguments(&mut self) {
        if matches!(self, Self::Unknown(None)) {
            *self = Self::any_object();
        }
    }

    /// Whether `{}` is a value of it, as far as the tree says.
    pub(crate) fn accepts_empty_object(&self) -> bool {
        match self {
            Self::Object(object) => {
                !object.hidden_required && object.fields.iter().all(|field| field.optional)
            }
            Self::Unknown(_) => true,
            Self::Commented(inner, _) => inner.accepts_empty_object(),
            Self::Union(any) => any.iter().any(Self::accepts_empty_object),
            Self::Intersection(all) => all.iter().all(Self::accepts_empty_object),
            Self::Never | Self::Plain(_) | Self::Literal(_) | Self::Array(_) | Self::Tuple(..) => {
                false
            }
        }
    }
}

/// Reads `schema`, itself the document its references point into. Comments are for readers of `language`.
pub(super) fn read(schema: &Value, bounds: Bounds, language: Language) -> Type {
    let mut reader = Reader {
        root: schema,
        bounds,
        language,
        nodes_left: bounds.nodes,
        references: Vec::new(),
    };
    reader.read(schema, bounds.depth)
}

struct Reader<'s> {
    root: &'s Value,
    bounds: Bounds,
    language: Language,
    nodes_left: usize,
    /// References being followed, so that one inside itself is cut.
    references: Vec<&'s str>,
}

impl<'s> Reader<'s> {
    fn read(&mut self, schema: &'s Value, depth: usize) -> Type {
        let Some(left) = self.nodes_left.checked_sub(1) else {
            return Type::cut("…");
        };
        self.nodes_left = left;
        match schema {
            Value::Object(schema) => self.read_keywords(schema, depth),
            Value::Bool(false) => Type::Never,
            Value::Bool(true)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Type::Unknown(None),
        }
    }

    /// All keywords of a schema hold at once, so the type is the intersection of what each says.
    fn read_keywords(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Type {
        let mut all = Vec::new();
        if let Some(Value::String(reference)) = schema.get("$ref") {
            all.push(self.read_reference(reference, depth));
        }
        if let Some(constant) = schema.get("const") {
            all.push(literal(constant));
        } else if let Some(Value::Array(values)) = schema.get("enum") {
            all.push(self.read_enum(values));
        } else {
            all.push(self.read_types(schema, depth));
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(schemas)) = schema.get(keyword) {
                let any = self.read_each(schemas, depth);
                all.push(self.union(any));
            }
        }
        if let Some(Value::Array(schemas)) = schema.get("allOf") {
            all.extend(self.read_each(schemas, depth));
        }
        let kind = intersection(all);
        match schema.get("nullable") {
            Some(Value::Bool(true)) => self.union(vec![kind, Type::Plain(Plain::Null)]),
            _ => kind,
        }
    }

    fn read_each(&mut self, schemas: &'s [Value], depth: usize) -> Vec<Type> {
        // One more than fits, so that the reader of the list sees that there are more.
        let some = schemas.iter().take(self.bounds.fields + 1);
        some.map(|schema| self.read(schema, depth)).collect()
    }

    fn read_reference(&mut self, reference: &'s str, depth: usize) -> Type {
        let name = reference.rsplit('/').next().unwrap_or_default();
        let name = names::comment_line(if name == "#" { "the whole" } else { name }, 60);
        if self.references.contains(&reference) {
            return Type::cut(&format!("{name} again"));
        }
        if self.references.len() >= REFERENCES_NESTED_MAX {
            return Type::cut(&name);
        }
        let Some(target) = local_reference(self.root, reference) else {
            return Type::cut(&format!("{name}, defined elsewhere"));
        };
        self.references.push(reference);
        let kind = self.read(target, depth);
        self.references.pop();
        kind
    }

    fn read_enum(&mut self, values: &[Value]) -> Type {
        let bytes: usize = values
            .iter()
            .map(|value| value.as_str().map_or(8, str::len))
            .sum();
        if values.len() <= self.bounds.values && bytes <= VALUE_BYTES * self.bounds.values {
            return self.union(values.iter().map(literal).collect());
        }
        let shown = values
            .iter()
            .take(8)
            .map(|value| names::comment_line(&value.to_string(), LITERAL_BYTES_MAX));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let mut kinds = Vec::new();
        for value in values {
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
    fn read_types(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Type {
        match schema.get("type") {
            Some(Value::String(name)) => self.read_type(name, schema, depth),
            Some(Value::Array(types)) => {
                let types = types.iter().filter_map(Value::as_str).take(8);
                let any = types
                    .map(|name| self.read_type(name, schema, depth))
                    .collect();
                self.union(any)
            }
            _ if schema.contains_key("properties") => self.read_object(schema, depth),
            _ if schema.contains_key("items") || schema.contains_key("prefixItems") => {
                self.read_array(schema, depth)
            }
            _ if schema
                .get("additionalProperties")
                .is_some_and(Value::is_object) =>
            {
                self.read_object(schema, depth)
            }
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
        let content = super::text(&self.read(content, depth), Style::Line, self.language);
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
            let item = items.map_or(Type::Unknown(None), |items| self.read(items, depth));
            return Type::Array(Box::new(item));
        }
        if prefix.len() > self.bounds.fields {
            return Type::Array(Box::new(Type::cut("…")));
        }
        let present = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let read = prefix
            .iter()
            .zip(0..)
            .map(|(item, at)| (self.read(item, depth), at < present));
        let read = read.collect();
        let rest = match items {
            Some(Value::Bool(false)) => None,
            Some(items) => Some(Box::new(self.read(items, depth))),
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
        for (name, property) in properties.into_iter().flatten() {
            let optional = !required.contains(&name.as_str());
            if object.fields.len() >= self.bounds.fields || self.nodes_left == 0 {
                object.hidden += 1;
                object.hidden_required |= !optional;
                continue;
            }
            object.fields.push(Field {
                name: name.clone(),
                optional,
                kind: self.read(property, depth),
                doc: doc(property, self.bounds.doc_bytes, self.language),
            });
        }
        self.add_undescribed(&mut object, &required, properties);
        object.rest = self
            .read_rest(schema, properties.is_some(), depth)
            .map(Box::new);
        Type::Object(object)
    }

    /// Adds the properties that are required and not described.
    fn add_undescribed(
        &mut self,
        object: &mut Object,
        required: &[&str],
        properties: Option<&Map<String, Value>>,
    ) {
        let described = |name: &str| properties.is_some_and(|map| map.contains_key(name));
        for name in required.iter().filter(|name| !described(name)) {
            if object.fields.len() >= self.bounds.fields {
                object.hidden += 1;
                object.hidden_required = true;
                continue;
            }
            object.fields.push(Field {
                name: (*name).to_owned(),
                optional: false,
                kind: Type::Unknown(None),
                doc: String::new(),
            });
        }
    }

    /// The type of properties that are not named. A TypeScript object is open by itself, so that an
    /// object with named properties may have others is not said again.
    fn read_rest(
        &mut self,
        schema: &'s Map<String, Value>,
        has_properties: bool,
        depth: usize,
    ) -> Option<Type> {
        match schema.get("additionalProperties") {
            Some(Value::Object(rest)) if !rest.is_empty() => {
                Some(self.read(schema.get("additionalProperties")?, depth))
            }
            Some(Value::Bool(false)) if !schema.contains_key("patternProperties") => None,
            _ if has_properties => None,
            _ => Some(Type::Unknown(None)),
        }
    }

    /// The union, flat and without repetition. Unknown swallows the rest.
    fn union(&self, any: Vec<Type>) -> Type {
        let mut flat: Vec<Type> = Vec::new();
        for kind in any {
            match kind {
                Type::Never => {}
                Type::Union(inner) => {
                    for kind in inner {
                        push_new(&mut flat, kind);
                    }
                }
                kind => push_new(&mut flat, kind),
            }
        }
        if let Some(unknown) = flat.iter().position(|kind| *kind == Type::Unknown(None)) {
            return flat.swap_remove(unknown);
        }
        if flat.contains(&Type::Plain(Plain::Number)) {
            flat.retain(|kind| *kind != Type::Plain(Plain::Integer));
        }
        let most = self.bounds.fields.max(self.bounds.values);
        if flat.len() > most {
            return Type::cut(&format!("one of more than {most} types"));
        }
        match flat.len() {
            0 => Type::Never,
            1 => flat.swap_remove(0),
            _ => Type::Union(flat),
        }
    }
}

fn push_new(kinds: &mut Vec<Type>, kind: Type) {
    if !kinds.contains(&kind) {
        kinds.push(kind);
    }
}

/// The intersection without the parts that say nothing; objects with other properties become one.
fn intersection(all: Vec<Type>) -> Type {
    let mut parts: Vec<Type> = Vec::new();
    for kind in all {
        match kind {
            Type::Unknown(None) => {}
            Type::Object(next) => match parts.last_mut() {
                Some(Type::Object(object)) if can_merge(object, &next) => merge(object, next),
                _ => push_new(&mut parts, Type::Object(next)),
            },
            kind => push_new(&mut parts, kind),
        }
    }
    if parts.contains(&Type::Plain(Plain::Integer)) {
        parts.retain(|kind| *kind != Type::Plain(Plain::Number));
    }
    match parts.len() {
        0 => Type::Unknown(None),
        1 => parts.swap_remove(0),
        _ => Type::Intersection(parts),
    }
}

fn can_merge(one: &Object, other: &Object) -> bool {
    let open = |object: &Object| matches!(object.rest.as_deref(), None | Some(Type::Unknown(None)));
    let disjoint = |field: &Field| other.fields.iter().all(|next| next.name != field.name);
    open(one) && open(other) && one.fields.iter().all(disjoint)
}

fn merge(object: &mut Object, next: Object) {
    object.fields.extend(next.fields);
    object.hidden += next.hidden;
    object.hidden_required |= next.hidden_required;
    if !object.fields.is_empty() {
        object.rest = None;
    }
}

fn required_names(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Plain(Plain::Null),
        Value::Bool(_) | Value::Number(_) => Type::Literal(value.clone()),
        Value::String(text) if text.len() <= LITERAL_BYTES_MAX => Type::Literal(value.clone()),
        Value::String(text) => Type::Commented(
            Box::new(Type::Plain(Plain::String)),
            names::comment_line(text, LITERAL_BYTES_MAX),
        ),
        Value::Array(_) | Value::Object(_) => kind_of(value),
    }
}

fn kind_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Plain(Plain::Null),
        Value::Bool(_) => Type::Plain(Plain::Boolean),
        Value::Number(number) if number.is_f64() => Type::Plain(Plain::Number),
        Value::Number(_) => Type::Plain(Plain::Integer),
        Value::String(_) => Type::Plain(Plain::String),
        Value::Array(_) => Type::Array(Box::new(Type::Unknown(None))),
        Value::Object(_) => Type::any_object(),
    }
}
