//! Conversion of a shape to JSON Schema (2020-12).

use serde_json::{Map, Value, json};

use super::shape::{Number, Object, Shape};

impl Shape {
    /// A schema that accepts every value that the shape accepts.
    ///
    /// Objects are open, because the next result may have a new property. A string that contains JSON is
    /// described by `contentMediaType` and `contentSchema` (validation §8).
    pub fn schema(&self) -> Value {
        if self.unknown {
            return json!({});
        }
        let mut kinds = Vec::new();
        let mut schema = Map::new();
        if let Some(object) = &self.object {
            kinds.push("object");
            add_properties(&mut schema, object);
        }
        if let Some(item) = &self.array {
            kinds.push("array");
            if **item != Self::default() {
                schema.insert("items".into(), item.schema());
            }
        }
        if let Some(format) = self.text {
            kinds.push("string");
            if let Some(name) = format.name() {
                schema.insert("format".into(), name.into());
            }
        }
        match self.number {
            Some(Number::Integer) => kinds.push("integer"),
            Some(Number::Number) => kinds.push("number"),
            None => {}
        }
        if self.boolean {
            kinds.push("boolean");
        }
        if self.null {
            kinds.push("null");
        }
        let json_text = self.json.as_ref().map(|inner| {
            json!({"type": "string", "contentMediaType": "application/json", "contentSchema": inner.schema()})
        });
        match (json_text, kinds.is_empty()) {
            (Some(text), true) => text,
            (Some(text), false) => json!({"anyOf": [text, typed(kinds, schema)]}),
            // No value was observed, so the schema accepts any.
            (None, true) => json!({}),
            (None, false) => typed(kinds, schema),
        }
    }
}

fn typed(mut kinds: Vec<&str>, keywords: Map<String, Value>) -> Value {
    let kind = match kinds.as_mut_slice() {
        [one] => Value::from(*one),
        _ => Value::from(kinds),
    };
    let mut schema = Map::from_iter([("type".to_owned(), kind)]);
    schema.extend(keywords);
    Value::Object(schema)
}

fn add_properties(schema: &mut Map<String, Value>, object: &Object) {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, field) in &object.fields {
        properties.insert(name.to_string(), field.shape.schema());
        if !field.optional {
            required.push(Value::from(&**name));
        }
    }
    if !properties.is_empty() {
        schema.insert("properties".into(), properties.into());
    }
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    if let Some(rest) = &object.rest {
        schema.insert("additionalProperties".into(), rest.schema());
    }
}
