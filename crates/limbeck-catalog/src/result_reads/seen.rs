//! What a result has of the parts that a program reads. Everything else of it is passed over.

use std::collections::BTreeMap;
use std::fmt;

use limbeck_domain::site::{ANY_ITEM, ANY_MEMBER, PARSED};
use limbeck_domain::text::cut;
use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::check::results::{Available, MissingPart};
use crate::nearest::nearest;

/// Items of a list, or members of an object, that are looked at.
const ITEMS_MAX: usize = 20;
/// Names of an object that are kept to be shown.
const NAMES_MAX: usize = 40;
/// Bytes of such a name.
const NAME_BYTES_MAX: usize = 80;
/// Members of an object that is what was looked for, and not the answer that it was not found.
const MEMBERS_MIN: usize = 3;
/// Names listed in place of one that is absent.
const LISTED_MAX: usize = 8;

/// The parts that are looked for, as a tree of their names.
#[derive(Debug, Default)]
pub(super) struct WantedParts(BTreeMap<String, WantedParts>);

impl WantedParts {
    pub(super) fn of<'p>(paths: impl Iterator<Item = &'p [String]>) -> Self {
        let mut wanted = Self::default();
        for path in paths {
            wanted.add(path.iter());
            // What is parsed already is given back as it is.
            if path.iter().any(|name| name == PARSED) {
                wanted.add(path.iter().filter(|name| *name != PARSED));
            }
        }
        wanted
    }

    fn add<'p>(&mut self, path: impl Iterator<Item = &'p String>) {
        let mut at = self;
        for name in path {
            at = at.0.entry(name.clone()).or_default();
        }
    }

    /// Whether something is looked for beside what a text holds.
    fn is_of_values(&self) -> bool {
        self.0.keys().any(|name| name != PARSED)
    }

    fn part(&self, name: &str) -> Option<&Self> {
        self.0.get(name)
    }
}

/// A value as far as it is looked at.
#[derive(Debug)]
pub(super) enum SeenValue {
    Null,
    /// A number or a truth value.
    Plain(&'static str),
    /// A text, with the JSON object or list that the text of a whole result holds, and what the program parses of it.
    Text {
        held: Option<Box<SeenValue>>,
        parsed: Option<Box<SeenValue>>,
    },
    /// The first items that were looked for.
    List(Vec<SeenValue>),
    Object {
        /// Members that were looked for.
        members: BTreeMap<String, SeenValue>,
        /// Values of the first members, where any member was looked for.
        any: Vec<SeenValue>,
        /// Some of the names.
        names: Vec<String>,
        count: usize,
    },
    /// A value that nothing is read of.
    Other,
}

/// Whether a value has a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Found,
    Absent(Absence),
    /// The value ends before the part, in an empty list for example.
    Unknown,
}

/// What a value has in place of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Absence {
    pub(super) part: MissingPart,
    /// Whether the value is a text of which the JSON has the part.
    pub(super) is_in_json: bool,
}

impl Absence {
    /// Whether it is of an object with several members, of which none says that something failed or was not found.
    pub(super) fn is_of_large_object(&self) -> bool {
        let Available::Properties(names, count) = &self.part.available else {
            return false;
        };
        let says_so = |name: &String| {
            matches!(
                name.as_str(),
                "error" | "errors" | "message" | "detail" | "found" | "exists"
            )
        };
        *count >= MEMBERS_MIN && !names.iter().any(says_so)
    }

    /// Whether an available name has the letters of the last name of `path` in another writing, or two in the wrong order.
    pub(super) fn other_writing(&self, path: &[String]) -> bool {
        let (Some(asked), Available::Properties(names, _)) = (path.last(), &self.part.available)
        else {
            return false;
        };
        names.iter().any(|name| is_other_writing(asked, name))
    }
}

/// `createdAt` for `created_at`, `itmes` for `items`. Not `line2` for `line1`, nor `assignee` for `assignees`: objects may have
/// both.
fn is_other_writing(asked: &str, name: &str) -> bool {
    let folded = |name: &str| -> Vec<char> {
        let letters = name.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let (asked, name) = (folded(asked), folded(name));
    if asked == name {
        return true;
    }
    if asked.len() != name.len() {
        return false;
    }
    let mut different = (0..asked.len()).filter(|at| asked.get(*at) != name.get(*at));
    match (different.next(), different.next(), different.next()) {
        (Some(one), Some(other), None) => {
            other == one + 1
                && asked.get(one) == name.get(other)
                && asked.get(other) == name.get(one)
        }
        _ => false,
    }
}

impl SeenValue {
    /// Looks at a value of JSON text. `None` for what is not JSON.
    pub(super) fn of(json: &str, wanted: &WantedParts) -> Option<Self> {
        let mut reader = serde_json::Deserializer::from_str(json);
        let looking = Looking {
            wanted,
            place: Place::Whole,
        };
        looking.deserialize(&mut reader).ok()
    }

    /// The JSON object or list that the value holds as a text.
    pub(super) fn json_text(&self) -> Option<&Self> {
        match self {
            Self::Text { held, parsed } => held.as_deref().or(parsed.as_deref()),
            _ => None,
        }
    }

    /// Whether there is a part at `path`.
    pub(super) fn part(&self, path: &[String]) -> Lookup {
        self.find(path, 0)
    }

    fn find(&self, path: &[String], depth: usize) -> Lookup {
        let Some(name) = path.get(depth).map(String::as_str) else {
            return Lookup::Found;
        };
        let kind = |kind| absent(depth + 1, Available::Kind(kind));
        match (self, name) {
            (Self::Text { parsed, .. }, PARSED) => match parsed {
                Some(parsed) => parsed.find(path, depth + 1),
                None => Lookup::Unknown,
            },
            // Parsing gives it back as it is, or parses a text in it.
            (_, PARSED) => match self.find(path, depth + 1) {
                Lookup::Found => Lookup::Found,
                Lookup::Absent(_) | Lookup::Unknown => Lookup::Unknown,
            },
            (Self::Null | Self::Other, _) => Lookup::Unknown,
            (Self::Plain(_), ANY_ITEM | ANY_MEMBER) => Lookup::Unknown,
            (Self::Plain(plain), _) => kind(plain),
            (Self::List(items), ANY_ITEM | ANY_MEMBER) => any_of(items, path, depth + 1),
            (Self::List(_), "length") => Lookup::Found,
            (Self::List(_), name) if name.parse::<usize>().is_ok() => Lookup::Unknown,
            (Self::List(_), _) => kind("array"),
            (Self::Text { held, .. }, _) => {
                let lookup = match (name, path.get(depth + 1).map(String::as_str)) {
                    ("length", _) | (ANY_ITEM, None | Some("length")) => Lookup::Found,
                    (ANY_ITEM, Some(ANY_ITEM | ANY_MEMBER)) | (ANY_MEMBER, _) => Lookup::Unknown,
                    (ANY_ITEM, Some(_)) => absent(depth + 2, Available::Kind("string")),
                    _ => kind("string"),
                };
                match (lookup, held) {
                    // Whole: a deeper read of it goes on in what the text holds.
                    (Lookup::Absent(absence), Some(held)) => Lookup::Absent(Absence {
                        is_in_json: held.find(path, depth) == Lookup::Found,
                        ..absence
                    }),
                    (lookup, _) => lookup,
                }
            }
            (Self::Object { .. }, ANY_ITEM) => Lookup::Unknown,
            (Self::Object { any, .. }, ANY_MEMBER) => any_of(any, path, depth + 1),
            (
                Self::Object {
                    members,
                    names,
                    count,
                    ..
                },
                name,
            ) => match members.get(name) {
                Some(member) => member.find(path, depth + 1),
                None => absent(depth + 1, listed(name, names, *count)),
            },
        }
    }
}

fn absent(depth: usize, available: Available) -> Lookup {
    Lookup::Absent(Absence {
        part: MissingPart {
            surely: true,
            depth,
            available,
        },
        is_in_json: false,
    })
}

/// The names of an object, the most similar to `asked` first.
fn listed(asked: &str, names: &[String], count: usize) -> Available {
    let near = nearest(asked, names.iter().map(|name| (name.as_str(), name)));
    let others = names.iter().filter(|name| !near.contains(name));
    let listed = near.iter().copied().chain(others);
    let listed = listed.take(LISTED_MAX).cloned().collect();
    Available::Properties(listed, count)
}

/// A part is there where one of the values has it, and absent where none has it and some could.
fn any_of(values: &[SeenValue], path: &[String], depth: usize) -> Lookup {
    let mut known = Lookup::Unknown;
    for value in values {
        match value.find(path, depth) {
            Lookup::Found => return Lookup::Found,
            lookup @ Lookup::Absent(_) if known == Lookup::Unknown => known = lookup,
            Lookup::Absent(_) | Lookup::Unknown => {}
        }
    }
    known
}

/// Reads a value as far as its parts are wanted.
#[derive(Clone, Copy)]
struct Looking<'w> {
    wanted: &'w WantedParts,
    place: Place,
}

/// Where a value is in a result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the whole result.
    Whole,
    /// It is what the text of a whole result holds.
    Held,
    /// It is inside of another value.
    Inside,
}

impl<'w> Looking<'w> {
    fn at(self, wanted: &'w WantedParts) -> Self {
        Self {
            wanted,
            place: Place::Inside,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Looking<'_> {
    type Value = SeenValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SeenValue, D::Error> {
        if self.place == Place::Inside && self.wanted.0.is_empty() {
            IgnoredAny::deserialize(deserializer)?;
            return Ok(SeenValue::Other);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Looking<'_> {
    type Value = SeenValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<SeenValue, E> {
        Ok(SeenValue::Null)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<SeenValue, E> {
        Ok(SeenValue::Plain("boolean"))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<SeenValue, E> {
        Ok(SeenValue::Plain("number"))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<SeenValue, E> {
        Ok(SeenValue::Plain("number"))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<SeenValue, E> {
        Ok(SeenValue::Plain("number"))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SeenValue, E> {
        let is_json = text.trim_start().starts_with(['{', '[']);
        let held_in = |wanted| {
            is_json
                .then(|| held_in(text, wanted))
                .flatten()
                .map(Box::new)
        };
        let parsed = self.wanted.part(PARSED).and_then(held_in);
        // It is parsed once where nothing else is looked for.
        let is_held =
            self.place == Place::Whole && (parsed.is_none() || self.wanted.is_of_values());
        let held = is_held.then(|| held_in(self.wanted)).flatten();
        Ok(SeenValue::Text { held, parsed })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SeenValue, A::Error> {
        let nothing = WantedParts::default();
        let item = self.wanted.part(ANY_ITEM);
        let item = item.or_else(|| self.wanted.part(ANY_MEMBER));
        let mut items = Vec::new();
        while items.len() < ITEMS_MAX
            && let Some(value) = list.next_element_seed(self.at(item.unwrap_or(&nothing)))?
        {
            items.push(value);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(SeenValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<SeenValue, A::Error> {
        let mut members = BTreeMap::new();
        let (mut any, mut names, mut count) = (Vec::new(), Vec::new(), 0);
        let member_of_any = self.wanted.part(ANY_MEMBER);
        while let Some(name) = object.next_key::<String>()? {
            count += 1;
            if names.len() < NAMES_MAX {
                names.push(cut(&name, NAME_BYTES_MAX).to_owned());
            }
            match (self.wanted.part(&name), member_of_any) {
                (Some(wanted), _) => {
                    members.insert(name, object.next_value_seed(self.at(wanted))?);
                }
                (None, Some(wanted)) if any.len() < ITEMS_MAX => {
                    any.push(object.next_value_seed(self.at(wanted))?);
                }
                (None, _) => {
                    object.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(SeenValue::Object {
            members,
            any,
            names,
            count,
        })
    }
}

/// The JSON object or list that a text holds.
fn held_in(text: &str, wanted: &WantedParts) -> Option<SeenValue> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let looking = Looking {
        wanted,
        place: Place::Held,
    };
    let held = looking.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    matches!(held, SeenValue::List(_) | SeenValue::Object { .. }).then_some(held)
}
