//! Makes what servers answer to `initialize` and `server/discover` into what `rmcp` accepts.
//!
//! Repaired: a missing or odd `serverInfo`, missing or odd capabilities, missing cache hints and
//! `resultType`. Not repaired: a protocol version that we do not speak.

use limbeck_domain::{limits, text};
use rmcp::model::{
    DiscoverResult, Implementation, InitializeResult, ProtocolVersion, ServerCapabilities,
    ServerResult,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ServerInfo;

/// Name and version of a server, each.
const SERVER_INFO_BYTES_MAX: usize = 256;
/// Where a modern server names itself.
const SERVER_INFO_META: &str = "io.modelcontextprotocol/serverInfo";

/// Which handshake was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandshakeKind {
    /// `initialize`.
    Initialize,
    /// `server/discover`.
    Discover,
}

/// What a server said about itself, cleaned and cut.
#[derive(Clone, Debug, Default)]
pub(crate) struct Greeting {
    pub(crate) protocol: String,
    pub(crate) server: Option<ServerInfo>,
    pub(crate) instructions: Option<String>,
    pub(crate) announces: Announces,
}

/// Lists whose changes a server announces: `listChanged` of its capabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Announces {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
}

/// Reads a handshake result: the greeting for us, a valid result for `rmcp`.
///
/// # Errors
///
/// What is wrong with it, when it cannot be worked with.
pub(crate) fn read(
    kind: HandshakeKind,
    raw: &RawValue,
) -> Result<(Greeting, ServerResult), String> {
    let value: Value = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    if !value.is_object() {
        return Err("its result is not an object".to_owned());
    }
    match kind {
        HandshakeKind::Initialize => initialize(&value),
        HandshakeKind::Discover => discover(&value),
    }
}

fn initialize(value: &Value) -> Result<(Greeting, ServerResult), String> {
    let offered = value.get("protocolVersion").unwrap_or(&Value::Null);
    let version = offered
        .as_str()
        .and_then(known_version)
        .ok_or_else(|| unknown_version(offered))?;
    let greeting = greeting(value, &version);
    let mut result = InitializeResult::new(capabilities(value))
        .with_protocol_version(version)
        .with_server_info(implementation(&greeting));
    result.instructions = greeting.instructions.clone();
    Ok((greeting, ServerResult::InitializeResult(result)))
}

/// A server that answers `server/discover` is modern, so no version is refused here; `rmcp` picks from the
/// list, and an answer without one is taken as the revision that was asked for. One that says nothing of
/// itself at all is no answer: there are legacy servers that say `{}` to whatever they do not know.
fn discover(value: &Value) -> Result<(Greeting, ServerResult), String> {
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
    let greeting = greeting(value, &ProtocolVersion::V_2026_07_28);
    let mut result = DiscoverResult::new(versions, capabilities(value));
    result.instructions = greeting.instructions.clone();
    Ok((greeting, ServerResult::DiscoverResult(result)))
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
    format!("it speaks protocol version `{offered}`, which this gateway does not")
}

/// Capabilities only narrow what we ask for; ones we cannot read are none.
fn capabilities(value: &Value) -> ServerCapabilities {
    value
        .get("capabilities")
        .and_then(|capabilities| serde_json::from_value(capabilities.clone()).ok())
        .unwrap_or_default()
}

fn greeting(value: &Value, version: &ProtocolVersion) -> Greeting {
    let info = value
        .get("_meta")
        .and_then(|meta| meta.get(SERVER_INFO_META))
        .or_else(|| value.get("serverInfo"));
    Greeting {
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

fn announces(value: &Value) -> Announces {
    let announced = |list: &str| {
        let path = format!("/capabilities/{list}/listChanged");
        value.pointer(&path) == Some(&Value::Bool(true))
    };
    Announces {
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

fn implementation(greeting: &Greeting) -> Implementation {
    let server = greeting.server.as_ref();
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

    fn parse(kind: HandshakeKind, text: &str) -> Result<(Greeting, ServerResult), String> {
        read(kind, &RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn a_server_without_version_is_repaired_and_one_from_the_future_is_refused() {
        let (greeting, result) = parse(
            HandshakeKind::Initialize,
            r#"{"protocolVersion":"2024-11-05","capabilities":5,"serverInfo":{"name":"a\u001b[1m"}}"#,
        )
        .unwrap();
        assert_eq!(greeting.protocol, "2024-11-05");
        let server = greeting.server.unwrap();
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
    fn a_discover_answer_says_something_of_the_server_and_need_not_list_versions() {
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
