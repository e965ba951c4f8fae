//! Streaming parser that builds the shape of a JSON value without keeping the value.
//!
//! The text is parsed once, as a stream: a result of many megabytes needs only the memory of its shape.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::formats::Format;
use super::names;
use super::shape::{Number, Object, Position, Shape};

/// Fewest values of an object that make its names data, when all of them are records with the same properties.
const RECORDS_ALIKE_MIN: usize = 4;
/// Fewest properties of such a record; one property is too common.
const RECORD_NAMES_MIN: usize = 2;
/// Number of names of an object that are kept even when most of its names are data.
const NAMES_KEPT_MIN: usize = 8;

impl Shape {
    /// Shape of one value, given as JSON text.
    ///
    /// # Errors
    ///
    /// The parser's error when `text` is not JSON, or is nested deeper, in the part that is read, than
    /// [`JSON_DEPTH_MAX`](limbeck_domain::limits::JSON_DEPTH_MAX).
    pub fn of_json(text: &str) -> Result<Self, serde_json::Error> {
        read(text, Position::ROOT)
    }
}

fn read(text: &str, place: Position) -> Result<Shape, serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_str(text);
    let shape = ShapeReader(place).deserialize(&mut parser)?;
    parser.end()?;
    Ok(shape)
}

/// Visitor that reads one value at a position.
struct ShapeReader(Position);

impl<'de> DeserializeSeed<'de> for ShapeReader {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<Shape, D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ShapeReader {
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
        while let Some(next) = items.next_element_seed(ShapeReader(inside))? {
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
            let shape = properties.next_value_seed(ShapeReader(place.in_object()))?;
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

/// Shape of a string, or of the JSON object or array it contains. `"12"` is a string, because versions and ids look like
/// numbers.
fn of_text(text: &str, place: Position) -> Shape {
    if text.trim_start().starts_with(['{', '[']) {
        let inside = place.wrapped();
        let inner = if place.is_last() {
            // At this depth the content would be unknown, which is of no use to a reader.
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

/// Whether the remaining names of an object are data, judged by the names and values beside them.
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

/// Reads the name of a property; `None` when it is data.
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
