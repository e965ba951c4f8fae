//! The value that a program returned, as an answer and the journal have it.
//!
//! The text comes from a worker that a program may have taken over. It is kept only when every reader of JSON accepts it,
//! and without white space: an answer is one line, and its text decides nothing else.

use std::fmt;

use limbeck_domain::{ErrorKind, ProgramError, text};
use limbeck_wire::Fault;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::messages;

/// Longest value that is looked at for content; a longer one has some.
const EMPTY_BYTES_MAX: usize = 1024;

/// What a worker reports as a program's end.
fn returned(result: Result<Option<String>, Fault>) -> Result<Option<String>, ProgramError> {
    match result {
        Ok(Some(value)) => checked(value).map(Some),
        result => result.map_err(ProgramError::from),
    }
}

/// What a worker that has made `calls` reports as a program's end, for a run and for its replay. One that says now that its
/// program never began is not believed, because a reader would take it for a program that wrote nothing.
///
/// # Errors
///
/// The program's own, or that of a value which nests too deeply or has a form that readers of JSON refuse.
pub(super) fn ended(
    result: Result<Option<String>, Fault>,
    calls: usize,
) -> Result<Option<String>, ProgramError> {
    returned(result).map_err(|error| match error.kind {
        ErrorKind::Syntax | ErrorKind::Contract | ErrorKind::Busy | ErrorKind::Request
            if calls > 0 =>
        {
            messages::began_after_all(&error, calls)
        }
        ErrorKind::Syntax
        | ErrorKind::Contract
        | ErrorKind::Busy
        | ErrorKind::Request
        | ErrorKind::Exception
        | ErrorKind::Timeout
        | ErrorKind::CpuLimit
        | ErrorKind::MemoryLimit
        | ErrorKind::StackLimit
        | ErrorKind::OutputLimit
        | ErrorKind::CallLimit
        | ErrorKind::NeverSettles
        | ErrorKind::Cancelled
        | ErrorKind::ApprovalNeeded
        | ErrorKind::ApprovalExpired
        | ErrorKind::Diverged
        | ErrorKind::WorkerLost
        | ErrorKind::Gateway => error,
    })
}

/// Whether a value has nothing to read in it: it and all of its parts are null, 0 or without content.
pub(super) fn is_empty(value: &str) -> bool {
    fn has_nothing(value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(_) => false,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty() || text == "undefined",
            Value::Array(items) => items.iter().all(has_nothing),
            Value::Object(members) => members.values().all(has_nothing),
        }
    }
    value.len() <= EMPTY_BYTES_MAX
        && serde_json::from_str(value).is_ok_and(|value| has_nothing(&value))
}

fn checked(value: String) -> Result<String, ProgramError> {
    // Readers of the answer refuse JSON that is nested deeper.
    if text::is_too_deep(&value) {
        return Err(messages::too_deep());
    }
    match serde_json::from_str::<Strict>(&value) {
        Ok(Strict) => Ok(compact(value)),
        Err(error) => {
            let message = format!("the returned value is not JSON: {error}");
            Err(ProgramError::new(ErrorKind::Exception, message)
                .with_hint("return plain values; a number has at most the range of a 64-bit float"))
        }
    }
}

/// The text without white space between its tokens. `json` is valid.
fn compact(json: String) -> String {
    let mut in_string = false;
    let mut escaped = false;
    let mut is_space = |byte: u8| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\t' | b'\n' | b'\r' => return !in_string,
            _ => {}
        }
        false
    };
    if !json.bytes().any(&mut is_space) {
        return json;
    }
    (in_string, escaped) = (false, false);
    let mut is_space = |c: char| {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_string = !in_string,
            ' ' | '\t' | '\n' | '\r' => return !in_string,
            _ => {}
        }
        false
    };
    json.chars().filter(|c| !is_space(*c)).collect()
}

/// Any value whose numbers and texts can be read. Nothing is kept of it.
struct Strict;

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_str<E>(self, _: &str) -> Result<Strict, E> {
        Ok(Strict)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        while let Some(Strict) = items.next_element()? {}
        Ok(Strict)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Strict, A::Error> {
        while let Some((Strict, Strict)) = members.next_entry()? {}
        Ok(Strict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_empty_when_no_part_of_it_has_content() {
        for empty in [
            "null",
            "0",
            "\"\"",
            "[]",
            "{}",
            "{\"sum\":0,\"rows\":[null,{}]}",
            "[\"undefined\"]",
            "0.0",
        ] {
            assert!(is_empty(empty), "{empty}");
        }
        for value in [
            "false",
            "1",
            "\"a\"",
            "[0,1]",
            "{\"a\":{\"b\":\"c\"}}",
            "[",
            "",
        ] {
            assert!(!is_empty(value), "{value}");
        }
        assert!(!is_empty(&format!("[{}0]", "0,".repeat(1_000))));
    }

    #[test]
    fn a_worker_that_made_calls_cannot_say_that_its_program_never_began() {
        let fault = |kind| Err(Fault::from(ProgramError::new(kind, "SyntaxError: \"x\"")));
        for kind in [
            ErrorKind::Syntax,
            ErrorKind::Contract,
            ErrorKind::Busy,
            ErrorKind::Request,
        ] {
            let error = ended(fault(kind), 2).unwrap_err();
            assert_eq!(error.kind, ErrorKind::WorkerLost, "{kind:?}");
            for part in [kind.as_str(), "2 calls", r#""SyntaxError: \"x\"""#] {
                assert!(error.message.contains(part), "{part}: {error}");
            }
            // The control: it made none.
            assert_eq!(ended(fault(kind), 0).unwrap_err().kind, kind);
        }
        let thrown = ended(fault(ErrorKind::Exception), 2).unwrap_err();
        assert_eq!(thrown.kind, ErrorKind::Exception);
    }

    #[test]
    fn a_value_is_one_line_whatever_the_worker_wrote() {
        let forged = "[\n{\"status\":\"completed\", \"a\\\"b \": 1.50}\n]".to_owned();
        let kept = returned(Ok(Some(forged))).unwrap().unwrap();
        assert_eq!(kept, "[{\"status\":\"completed\",\"a\\\"b \":1.50}]");
        // The control: what a guest writes stays as it is.
        for value in [
            "null",
            "\"a b\\n\"",
            "[1,{\"k\":-1.5e300}]",
            "\"\\ud83d\\ude00\"",
        ] {
            assert_eq!(
                returned(Ok(Some(value.to_owned()))).unwrap().unwrap(),
                value
            );
        }
        assert_eq!(returned(Ok(None)).unwrap(), None);
    }

    #[test]
    fn a_value_that_some_reader_of_json_refuses_is_an_error() {
        for value in [
            "1e400",
            "[\"\\ud800\"]",
            "{\"\\ud800\":1}",
            "{",
            "1 2",
            "nul",
        ] {
            let error = returned(Ok(Some(value.to_owned()))).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Exception, "{value}");
        }
        let deep = "[".repeat(200) + &"]".repeat(200);
        let error = returned(Ok(Some(deep))).unwrap_err();
        assert_eq!(error.kind, ErrorKind::OutputLimit);
    }
}
