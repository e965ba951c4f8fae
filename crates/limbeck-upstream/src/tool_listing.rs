//! Listing of a server's tools: all pages, within bounds.

use std::collections::HashSet;
use std::fmt;

use limbeck_domain::limits;
use rmcp::model::ErrorCode;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::error::UpstreamError;
use crate::report::ToolList;
use crate::spec::ServerSpec;
use crate::time::in_ms;
use crate::tool_decoder::ToolDecoder;

/// Longest cursor accepted.
const CURSOR_BYTES_MAX: usize = 64 << 10;

#[derive(Deserialize)]
struct ToolsPage<'a> {
    #[serde(borrow, default)]
    tools: Option<PageTools<'a>>,
    #[serde(rename = "nextCursor", borrow, default)]
    next_cursor: Option<&'a RawValue>,
}

/// Tools looked at on one page; valid ones above [`limits::TOOLS_PER_SERVER_MAX`] are left out anyway.
const PAGE_TOOLS_MAX: usize = 2 * limits::TOOLS_PER_SERVER_MAX;

/// First tools of a page. A page of a few bytes per tool could hold millions of them.
struct PageTools<'a> {
    first: Vec<&'a RawValue>,
    has_more: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for PageTools<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tools;

        impl<'de> Visitor<'de> for Tools {
            type Value = PageTools<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of tools")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut tools: A) -> Result<Self::Value, A::Error> {
                let mut first = Vec::new();
                while first.len() < PAGE_TOOLS_MAX {
                    match tools.next_element()? {
                        Some(tool) => first.push(tool),
                        None => {
                            return Ok(PageTools {
                                first,
                                has_more: false,
                            });
                        }
                    }
                }
                let mut has_more = false;
                while tools.next_element::<IgnoredAny>()?.is_some() {
                    has_more = true;
                }
                Ok(PageTools { first, has_more })
            }
        }

        deserializer.deserialize_seq(Tools)
    }
}

/// Lists the tools of the server.
///
/// # Errors
///
/// [`UpstreamError::ListTimeout`] when all pages together take longer than the entry's `list_timeout`,
/// [`UpstreamError::InvalidAnswer`] when a page is invalid, and errors of a lost connection. A list that is too
/// long, or whose cursors repeat, is cut with a message.
pub(crate) async fn tools(
    connection: &Connection,
    spec: &ServerSpec,
) -> Result<ToolList, UpstreamError> {
    let deadline = Instant::now() + spec.list_timeout;
    let mut decoder = ToolDecoder::new(&spec.name, connection.mirrors_parameters());
    let mut seen = HashSet::new();
    let mut cursor = None;
    for page in 1.. {
        let left = deadline.saturating_duration_since(Instant::now());
        let timed_out = UpstreamError::ListTimeout {
            ms: in_ms(spec.list_timeout),
        };
        let raw = match connection.list_page(cursor.take(), left, timed_out).await {
            Err(UpstreamError::Protocol { code, .. })
                // A server may have resources or prompts and no tools; that is an empty list and no failure.
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
            // Without this check a server could keep the listing busy until its time limit.
            Some(next) if !seen.insert(next.clone()) => {
                decoder.drop_rest(&format!(
                    "page {page} ends in a cursor that was used before"
                ));
                break;
            }
            Some(next) => cursor = Some(next),
        }
    }
    let handshake_result = connection.handshake_result();
    Ok(ToolList {
        instructions: handshake_result.instructions.clone().or_else(|| {
            let server = handshake_result.server.as_ref()?;
            server.about.clone()
        }),
        server_info: handshake_result.server.clone(),
        ..decoder.finish()
    })
}

/// Decodes one page; returns the cursor of the next.
fn read_page(
    raw: &RawValue,
    decoder: &mut ToolDecoder<'_>,
) -> Result<Option<String>, UpstreamError> {
    let invalid = |reason: String| UpstreamError::InvalidAnswer { reason };
    let page: ToolsPage<'_> = serde_json::from_str(raw.get()).map_err(|error| {
        invalid(format!(
            "its `tools/list` result is not a list of tools: {error}"
        ))
    })?;
    let tools = page
        .tools
        .ok_or_else(|| invalid("its `tools/list` has no `tools`".to_owned()))?;
    for tool in tools.first {
        decoder.push(tool);
    }
    if tools.has_more {
        decoder.stop(&format!("a page has more than {PAGE_TOOLS_MAX} tools"));
    }
    // A cursor that is not a string counts as absent.
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
        let mut decoder = ToolDecoder::new(&server, false);
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
