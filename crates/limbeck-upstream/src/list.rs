//! Reads all pages of `tools/list`, as far as bounds allow, and says where they cut.

use std::collections::HashSet;

use limbeck_domain::limits;
use rmcp::model::ErrorCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::connection::{Connection, in_ms};
use crate::decode::Decoder;
use crate::{ServerSpec, ToolList, UpstreamError};

/// A cursor is an opaque key, not a document.
const CURSOR_BYTES_MAX: usize = 64 << 10;

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow, default)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(rename = "nextCursor", borrow, default)]
    next_cursor: Option<&'a RawValue>,
}

/// Lists the tools of the server behind `connection`.
///
/// # Errors
///
/// [`UpstreamError::ListTimeout`] when the pages take longer than the entry's `list_timeout` together,
/// [`UpstreamError::InvalidAnswer`] when a page is none, and those of a lost connection. A list that is too long, or
/// runs in a circle, is cut and says so.
pub(crate) async fn tools(
    connection: &Connection,
    spec: &ServerSpec,
) -> Result<ToolList, UpstreamError> {
    let deadline = Instant::now() + spec.list_timeout;
    let mut decoder = Decoder::new(&spec.name, connection.mirrors_parameters());
    let mut seen = HashSet::new();
    let mut cursor = None;
    for page in 1.. {
        let left = deadline.saturating_duration_since(Instant::now());
        let timed_out = UpstreamError::ListTimeout {
            ms: in_ms(spec.list_timeout),
        };
        let raw = match connection.list_page(cursor.take(), left, timed_out).await {
            Err(UpstreamError::Protocol { code, .. })
                if page == 1 && code == i64::from(ErrorCode::METHOD_NOT_FOUND.0) =>
            {
                decoder.drop_rest("the server has no `tools/list`");
                break;
            }
            answer => answer?,
        };
        match read_page(&raw, &mut decoder)? {
            None => break,
            Some(_) if decoder.is_full() => break,
            Some(_) if page == limits::LIST_PAGES_MAX => {
                decoder.drop_rest(&format!("the list has more than {page} pages"));
                break;
            }
            Some(next) if next.len() > CURSOR_BYTES_MAX => {
                decoder.drop_rest(&format!(
                    "page {page} ends in a cursor of {} bytes",
                    next.len()
                ));
                break;
            }
            Some(next) if !seen.insert(next.clone()) => {
                decoder.drop_rest(&format!(
                    "page {page} ends in a cursor that was used before"
                ));
                break;
            }
            Some(next) => cursor = Some(next),
        }
    }
    let greeting = connection.greeting();
    Ok(ToolList {
        instructions: greeting.instructions.clone().or_else(|| {
            let server = greeting.server.as_ref()?;
            server.about.clone()
        }),
        server_info: greeting.server.clone(),
        ..decoder.finish()
    })
}

/// Decodes one page; gives the cursor of the next.
fn read_page(raw: &RawValue, decoder: &mut Decoder<'_>) -> Result<Option<String>, UpstreamError> {
    let invalid = |reason: String| UpstreamError::InvalidAnswer { reason };
    let page: Page<'_> = serde_json::from_str(raw.get())
        .map_err(|error| invalid(format!("its `tools/list` is no list of tools: {error}")))?;
    let tools = page
        .tools
        .ok_or_else(|| invalid("its `tools/list` has no `tools`".to_owned()))?;
    for tool in tools {
        decoder.push(tool);
    }
    // Anything but a text is no cursor, as if it were not there.
    let next = page
        .next_cursor
        .map(|cursor| serde_json::from_str(cursor.get()));
    Ok(next
        .and_then(Result::ok)
        .filter(|cursor: &String| !cursor.is_empty()))
}

#[cfg(test)]
mod tests {
    use limbeck_domain::ServerName;

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn a_page_without_tools_is_refused_and_an_odd_cursor_is_none() {
        let server = ServerName::from("s");
        let mut decoder = Decoder::new(&server, false);
        assert!(read_page(&raw(r#"{"tools":5}"#), &mut decoder).is_err());
        assert!(read_page(&raw("{}"), &mut decoder).is_err());
        let page = r#"{"tools":[{"name":"a"}],"nextCursor":5}"#;
        assert_eq!(read_page(&raw(page), &mut decoder).unwrap(), None);
        let page = r#"{"tools":[],"nextCursor":"x"}"#;
        assert_eq!(
            read_page(&raw(page), &mut decoder).unwrap().as_deref(),
            Some("x")
        );
        assert_eq!(decoder.finish().tools.len(), 1);
    }
}
