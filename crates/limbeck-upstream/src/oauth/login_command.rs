//! Command line that signs in to a server, for hints.

/// Returns the command that signs in to `server`, for `principal` if given.
pub(crate) fn login_command(server: &str, principal: Option<&str>) -> String {
    let flag = principal.map_or_else(String::new, |principal| {
        format!(" --principal={}", quoted(principal))
    });
    let dashes = if server.starts_with('-') { " --" } else { "" };
    format!("limbeck auth login{flag}{dashes} {}", quoted(server))
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
