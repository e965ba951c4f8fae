//! U02: gateways that run an executable that was replaced.

use limbeck_domain::text::clean_line;
use serde_json::Value;

use super::clients::Finding;
use crate::invocation::Invocation;

/// Longest version that is shown, in bytes.
const VERSION_BYTES_MAX: usize = 40;

/// A finding for each gateway of this state directory that is older than this executable.
#[cfg(unix)]
pub(super) async fn findings(invocation: &Invocation) -> Vec<Finding> {
    let mut found = Vec::new();
    for socket in crate::wiring::sockets(invocation) {
        let asked = limbeck_server::sharing::ask_health(&socket);
        let Ok(Ok(health)) = tokio::time::timeout(PATIENCE, asked).await else {
            continue;
        };
        found.extend(finding(&health));
    }
    found
}

/// How long a gateway has to answer: `doctor` does not wait for one that hangs.
#[cfg(unix)]
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);

#[cfg(not(unix))]
pub(super) async fn findings(_: &Invocation) -> Vec<Finding> {
    Vec::new()
}

fn finding(health: &Value) -> Option<Finding> {
    let own = env!("CARGO_PKG_VERSION");
    let version = health["version"].as_str().unwrap_or("unknown");
    let pid = health["pid"].as_u64()?;
    let what = if version != own {
        let version = clean_line(version, VERSION_BYTES_MAX);
        format!("the gateway of process {pid} is Limbeck {version}, and this is {own}")
    } else if is_replaced(pid) {
        format!("the executable of the gateway in process {pid} was replaced since it started")
    } else {
        return None;
    };
    Some(Finding {
        code: "U02",
        finding: what,
        // Its pipes find the next one, which is of the version of the first client that starts again.
        remedy: format!("kill {pid}"),
        fix: false,
        is_proposal: false,
        is_command: true,
    })
}

/// Whether the file that a process runs has no name any more.
fn is_replaced(pid: u64) -> bool {
    let executable = std::fs::read_link(format!("/proc/{pid}/exe"));
    executable.is_ok_and(|path| path.to_string_lossy().ends_with(" (deleted)"))
}
