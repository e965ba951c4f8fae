//! Lenient reading of the results of `initialize` and `server/discover`.
//!
//! Repaired for `rmcp`: a missing or invalid `serverInfo`, missing or invalid capabilities, missing cache hints
//! and `resultType`. Rejected: a protocol version that is not supported.

use limbeck_domain::{limits, text};
use rmcp::model::{
    DiscoverResult, Implementation, InitializeResult, ProtocolVersion, ServerCapabilities,
    ServerResult,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::report::ServerInfo;

/// Bytes kept of a server's name and of its version.
const SERVER_INFO_BYTES_MAX: usize = 256;
/// Key in `_meta` under which a modern server names itself.
const SERVER_INFO_META: &str = "io.modelcontextprotocol/serverInfo";

/// Kind of handshake request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeKind {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
}

/// Handshake result of a server, cleaned and cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct HandshakeResult {
    pub(crate) protocol: String,
    pub(crate) server: Option<ServerInfo>,
    pub(crate) instructions: Option<String>,
    pub(crate) announces: ListChangeSupport,
}

/// Lists whose changes a server announces: `listChanged` in its capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListChangeSupport {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
}

/// Reads a handshake result, and makes a valid one for `rmcp`.
///
/// # Errors
///
/// Reason why the result cannot be used.
pub(crate) fn read(
    kind: HandshakeKind,
    raw: &RawValue,
) -> Result<(HandshakeResult, ServerResult), String> {
    let value: Value = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    if !value.is_object() {
        return Err("its result is not an object".to_owned());
    }
    match kind {
        HandshakeKind::Initialize => initialize(&value),
        HandshakeKind::Discover => discover(&value),
    }
}

fn initialize(value: &Value) -> Result<(HandshakeResult, ServerResult), String> {
    let offered = value.get("protocolVersion").unwrap_or(&Value::Null);
    let version = offered
        .as_str()
        .and_then(known_version)
        .ok_or_else(|| unknown_version(offered))?;
    let handshake_result = handshake_result(value, &version);
    let mut result = InitializeResult::new(capabilities(value))
        .with_protocol_version(version)
        .with_server_info(implementation(&handshake_result));
    result.instructions = handshake_result.instructions.clone();
    Ok((handshake_result, ServerResult::InitializeResult(result)))
}

/// A server that answers `server/discover` is modern, so no version is rejected here; `rmcp` picks from the
/// list, and without a list the requested revision is assumed. A result without versions and capabilities is
/// rejected: some legacy servers respond `{}` to unknown requests.
fn discover(value: &Value) -> Result<(HandshakeResult, ServerResult), String> {
    if value.get("supportedVersions").is_none() && value.get("capabilities").is_none() {
        return Err("it has neither versions nor capabilities".to_owned());
    }
    let mut versions: Vec<ProtocolVersion> = ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .filter(|known| lists(value.get("supportedVersions"), known.as_str()))
        .cloned()
        .collect();
    if versions.is_empty()
        && value
            .get("supportedVersions")
            .and_then(Value::as_array)
            .is_none()
    {
        versions.push(ProtocolVersion::V_2026_07_28);
    }
    let handshake_result = handshake_result(value, &ProtocolVersion::V_2026_07_28);
    let mut result = DiscoverResult::new(versions, capabilities(value));
    result.instructions = handshake_result.instructions.clone();
    Ok((handshake_result, ServerResult::DiscoverResult(result)))
}

fn lists(versions: Option<&Value>, wanted: &str) -> bool {
    versions
        .and_then(Value::as_array)
        .is_some_and(|versions| versions.iter().any(|version| version == wanted))
}

fn known_version(text: &str) -> Option<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .find(|known| known.as_str() == text)
        .cloned()
}

fn unknown_version(offered: &Value) -> String {
    let offered = match offered {
        Value::String(text) => text::clean_line(text, 64),
        other => text::clean_line(&other.to_string(), 64),
    };
    format!("it uses protocol version `{offered}`, which this gateway does not support")
}

/// Capabilities only limit our requests, so unreadable ones count as none.
fn capabilities(value: &Value) -> ServerCapabilities {
    value
        .get("capabilities")
        .and_then(|capabilities| serde_json::from_value(capabilities.clone()).ok())
        .unwrap_or_default()
}

fn handshake_result(value: &Value, version: &ProtocolVersion) -> HandshakeResult {
    // Modern servers send it in `_meta`, legacy ones at the top.
    let info = value
        .get("_meta")
        .and_then(|meta| meta.get(SERVER_INFO_META))
        .or_else(|| value.get("serverInfo"));
    HandshakeResult {
        protocol: version.as_str().to_owned(),
        server: info.and_then(server_info),
        instructions: value
            .get("instructions")
            .and_then(Value::as_str)
            .map(|words| text::clean(words, limits::DESCRIPTION_BYTES_MAX))
            .filter(|words| !words.trim().is_empty()),
        announces: announces(value),
    }
}

fn announces(value: &Value) -> ListChangeSupport {
    let announced = |list: &str| {
        let path = format!("/capabilities/{list}/listChanged");
        value.pointer(&path) == Some(&Value::Bool(true))
    };
    ListChangeSupport {
        tools: announced("tools"),
        resources: announced("resources"),
        prompts: announced("prompts"),
    }
}

fn server_info(info: &Value) -> Option<ServerInfo> {
    let field = |name: &str| {
        info.get(name)
            .and_then(Value::as_str)
            .map(|words| text::clean_line(words, SERVER_INFO_BYTES_MAX))
    };
    Some(ServerInfo {
        name: field("name")?,
        version: field("version"),
        about: field("description").or_else(|| field("title")),
    })
}

fn implementation(handshake_result: &HandshakeResult) -> Implementation {
    let server = handshake_result.server.as_ref();
    Implementation::new(
        server.map_or_else(String::new, |server| server.name.clone()),
        server
            .and_then(|server| server.version.clone())
            .unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(kind: HandshakeKind, text: &str) -> Result<(HandshakeResult, ServerResult), String> {
        read(kind, &RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_server_without_version_is_repaired_and_one_from_the_future_is_refused() {
        let (handshake_result, result) = parse(
            HandshakeKind::Initialize,
            r#"{"protocolVersion":"2024-11-05","capabilities":5,"serverInfo":{"name":"a\u001b[1m"}}"#,
        )
        .unwrap();
        assert_eq!(handshake_result.protocol, "2024-11-05");
        let server = handshake_result.server.unwrap();
        assert_eq!((server.name.as_str(), server.version), ("a[1m", None));
        assert!(matches!(result, ServerResult::InitializeResult(_)));

        for version in ["\"2999-01-01\"", "5", "null"] {
            let error = parse(
                HandshakeKind::Initialize,
                &format!(r#"{{"protocolVersion":{version},"capabilities":{{}}}}"#),
            )
            .unwrap_err();
            assert!(error.contains("which this gateway does not"), "{error}");
        }
    }

    #[test]
    fn a_discover_result_describes_the_server_and_need_not_list_versions() {
        let (_, result) = parse(HandshakeKind::Discover, r#"{"capabilities":{}}"#).unwrap();
        let ServerResult::DiscoverResult(result) = result else {
            panic!("{result:?}");
        };
        assert_eq!(result.supported_versions, [ProtocolVersion::V_2026_07_28]);
        for none in ["{}", r#"{"ok":true}"#, "[]"] {
            assert!(parse(HandshakeKind::Discover, none).is_err(), "{none}");
        }
    }
}
