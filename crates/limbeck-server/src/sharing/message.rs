//! Lines between two processes of Limbeck that are not of the protocol: each is a JSON object whose only key is `limbeck`. A
//! message of the protocol begins with its version, so the two cannot be confused.

use rmcp::model::RequestId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Beginning of these lines, as they are written.
const PREFIX: &[u8] = b"{\"limbeck\":";

/// Version of these messages.
pub(super) const VERSION: u32 = 1;

/// A line of this kind.
#[derive(Debug, Serialize, Deserialize)]
struct Line<T> {
    limbeck: T,
}

/// First line of a process that connects.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Greeting {
    /// It wants to pass the lines of a client on.
    Join {
        /// [`VERSION`] of the sender.
        version: u32,
        /// Its identity in hexadecimal digits.
        identity: String,
    },
    /// It wants to know how the gateway is.
    Health,
}

/// Answer to it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// Its lines are served.
    Joined {
        /// Process of the gateway.
        pid: u32,
    },
    /// They are not: the gateway ends, so another is worth a try.
    Ending,
    /// They are not.
    Refused {
        /// Why.
        reason: String,
    },
    /// How the gateway is.
    Health(Value),
}

/// Line of a gateway among those for the client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum News {
    /// An execution began for this request.
    Begun {
        /// Id of the request.
        request: RequestId,
        /// Id of the execution.
        execution: String,
    },
    /// The gateway is about to end: the sender is to leave as soon as nothing is in flight.
    Ending,
}

/// `message` as a value that is written like any other line.
pub(super) fn line<T: Serialize>(message: T) -> impl Serialize {
    Line { limbeck: message }
}

/// The message of a line of this kind; `None` for other lines.
pub(super) fn read<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    if !line.starts_with(PREFIX) {
        return None;
    }
    let line: Line<T> = serde_json::from_slice(line).ok()?;
    Some(line.limbeck)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_protocol_is_none_of_these() {
        let text = |news| serde_json::to_vec(&line(news)).unwrap();
        let begun = text(News::Begun {
            request: RequestId::Number(3),
            execution: "ex_1".to_owned(),
        });
        assert!(begun.starts_with(PREFIX));
        let Some(News::Begun { request, execution }) = read(&begun) else {
            panic!("not read");
        };
        assert_eq!((request, &*execution), (RequestId::Number(3), "ex_1"));
        let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        assert!(read::<News>(ping).is_none());
        assert!(matches!(read(&text(News::Ending)), Some(News::Ending)));
    }
}
