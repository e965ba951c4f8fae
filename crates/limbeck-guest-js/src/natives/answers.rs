//! Looks at answers and texts for warnings. Every answer and every text that leaves is looked at, so it has to be cheap.

use rquickjs::object::{Filter, Property};
use rquickjs::{Array, Atom, Object, String as JsString, Value};

use super::add;

/// An object with more fields is a record, and no wrapper of a text or a list.
const WRAPPER_FIELDS_MAX: usize = 8;

pub(super) fn add_to(natives: &Object<'_>) -> rquickjs::Result<()> {
    add(natives, "includes", includes)?;
    add(natives, "mayHaveLost", may_have_lost)?;
    add(natives, "hide", hide)?;
    add(natives, "onlyFields", only_fields)
}

/// Whether `part` is in `text`. The engine's own method compares character by character.
fn includes(text: JsString<'_>, part: JsString<'_>) -> rquickjs::Result<bool> {
    Ok(text.to_cstring()?.contains(&*part.to_cstring()?))
}

/// Whether a JSON text has a text that objects give, or `null`, which numbers become that JSON lacks. Most have neither.
fn may_have_lost(text: JsString<'_>) -> rquickjs::Result<bool> {
    let text = text.to_cstring()?;
    Ok(text.contains("[object") || text.contains("null"))
}

/// Defines a property that is not enumerable and that a program can change, as a class body does.
fn hide<'js>(object: Object<'js>, name: Value<'js>, value: Value<'js>) -> rquickjs::Result<()> {
    object.prop(name, Property::from(value).configurable().writable())
}

/// Names of the only field with a text and of the only field with a list: an array of two, of which one may be undefined.
/// Nothing when there is neither.
fn only_fields<'js>(object: Object<'js>) -> rquickjs::Result<Option<Array<'js>>> {
    let fields = object.own_props::<Atom<'js>, Value<'js>>(Filter::default());
    if fields.len() > WRAPPER_FIELDS_MAX {
        return Ok(None);
    }
    let (mut texts, mut lists) = (Only::default(), Only::default());
    for field in fields {
        let (name, value) = field?;
        if value.is_string() {
            texts.add(name);
        } else if value.is_array() {
            lists.add(name);
        }
    }
    let (text, list) = (texts.name()?, lists.name()?);
    if text.is_none() && list.is_none() {
        return Ok(None);
    }
    let names = Array::new(object.ctx().clone())?;
    names.set(0, text)?;
    names.set(1, list)?;
    Ok(Some(names))
}

/// Name of the only field of a kind.
#[derive(Default)]
struct Only<'js> {
    last: Option<Atom<'js>>,
    count: usize,
}

impl<'js> Only<'js> {
    fn add(&mut self, name: Atom<'js>) {
        self.last = Some(name);
        self.count += 1;
    }

    fn name(self) -> rquickjs::Result<Option<Value<'js>>> {
        let only = self.last.filter(|_| self.count == 1);
        only.map(|name| name.to_value()).transpose()
    }
}
