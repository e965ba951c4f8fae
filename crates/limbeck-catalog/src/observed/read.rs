//! Reads the shape off a value, without keeping the value.
//!
//! The text is parsed once, as a stream: a result of many megabytes costs no memory but its shape's.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::formats::Format;
use super::names;
use super::shape::{Number, Object, Place, Shape};

/// Records beside one another from which on their names are taken for data, when all have the same properties.
const RECORDS_ALIKE_MIN: usize = 4;
/// Properties such a record has at least; many things have one.
const RECORD_NAMES_MIN: usize = 2;
/// Names of an object that outweigh those that are data, however many.
const NAMES_KEPT_MIN: usize = 8;

impl Shape {
    /// The shape of one value, as JSON text.
    ///
    /// # Errors
    ///
    /// What the parser says when `text` is no JSON, or, where it is looked at, nested deeper than
    /// [`JSON_DEPTH_MAX`](limbeck_domain::limits::JSON_DEPTH_MAX).
    pub fn of_json(text: &str) -> Result<Self, serde_json::Error> {
        read(text, Place::ROOT)
    }
}

fn read(text: &str, place: Place) -> Result<Shape, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let shape = Reader(place).deserialize(&mut parser)?;
    parser.end()?;
    Ok(shape)
}

/// Reads one value that stands at a place.
struct Reader(Place);

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Shape, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Shape, E> {
        Ok(Shape {
            null: true,
            ..Shape::default()
        })
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape {
            boolean: true,
            ..Shape::default()
        })
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Shape, E> {
        Ok(number(Number::Integer))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Shape, E> {
        Ok(number(Number::Integer))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Shape, E> {
        Ok(number(Number::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Shape, E> {
        Ok(of_text(text, self.0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        if self.0.is_last() {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Shape::unknown());
        }
        let inside = self.0.wrapped();
        let mut item = Shape::default();
        while let Some(next) = items.next_element_seed(Reader(inside))? {
            item.join_at(&next, inside);
        }
        Ok(Shape {
            array: Some(Box::new(item)),
            ..Shape::default()
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut properties: A) -> Result<Shape, A::Error> {
        let Self(place) = self;
        if place.is_last() {
            while properties.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Shape::unknown());
        }
        let mut object = Object::default();
        let mut data = 0;
        while let Some(name) = properties.next_key_seed(Name)? {
            let shape = properties.next_value_seed(Reader(place.in_object()))?;
            match name {
                Some(name) => object.add(name, shape, place),
                None => {
                    data += 1;
                    object.add_nameless(&shape, place);
                }
            }
        }
        if is_map(&object, data) {
            object.drop_names(place);
        }
        object.weight_within(place);
        Ok(Shape {
            object: Some(Box::new(object)),
            ..Shape::default()
        })
    }
}

fn number(number: Number) -> Shape {
    Shape {
        number: Some(number),
        ..Shape::default()
    }
}

/// A text, or the object or array that it holds as JSON. `"12"` is a text: versions and ids look so.
fn of_text(text: &str, place: Place) -> Shape {
    if text.trim_start().starts_with(['{', '[']) {
        let inside = place.wrapped();
        let inner = if place.is_last() {
            // What it holds is unknown here, so that it holds anything is not worth telling.
            None
        } else {
            read(text, inside).ok()
        };
        if let Some(inner) = inner {
            return Shape {
                json: Some(Box::new(inner)),
                ..Shape::default()
            };
        }
    }
    Shape {
        text: Some(Format::of(text)),
        ..Shape::default()
    }
}

/// Whether the names that are left are data too, by what stands beside them.
fn is_map(object: &Object, data: usize) -> bool {
    let names = object.fields.len();
    let mostly_data = data > 0 && names <= data.min(NAMES_KEPT_MIN);
    let shape_of = |field: &super::shape::Field| {
        let record = field.shape.object.as_deref()?;
        let names: Vec<Box<str>> = record.fields.keys().cloned().collect();
        (names.len() >= RECORD_NAMES_MIN).then_some(names)
    };
    let mut fields = object.fields.values();
    let first = fields.next().and_then(shape_of);
    let alike = names >= RECORDS_ALIKE_MIN
        && first.is_some()
        && fields.all(|field| shape_of(field) == first);
    mostly_data || alike
}

/// Reads the name of a property; `None` for one that is data.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Option<Box<str>>;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Self::Value, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Option<Box<str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a property")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok((!names::is_data(name)).then(|| name.into()))
    }
}
