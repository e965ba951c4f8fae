//! Paths beneath a directory, by their text alone.

use crate::rules::truth::Truth;

/// A directory in the form in which paths are compared: absolute, without a slash at its end.
pub(super) fn directory(written: &str) -> Option<String> {
    let directory = match written {
        "/" => "",
        other => other.strip_suffix('/').unwrap_or(other),
    };
    let is_absolute = written.starts_with('/');
    (is_absolute && is_plain(written.strip_suffix('/').unwrap_or(written)))
        .then(|| directory.to_owned())
}

/// Whether `path` is `directory` or beneath it. Unknown for a path that other readers could resolve to another place:
/// relative, with `.`, `..` or empty parts, a backslash or a NUL. Links of the file system are not followed: the gateway
/// does not see the server's files.
pub(super) fn is_under(directory: &str, path: &str) -> Truth {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    if !path.starts_with('/') || !is_plain(trimmed) {
        return Truth::Unknown;
    }
    match trimmed.strip_prefix(directory) {
        Some(rest) => (rest.is_empty() || rest.starts_with('/')).into(),
        None => Truth::False,
    }
}

fn is_plain(path: &str) -> bool {
    let has_odd_characters = path.contains(['\\', '\0']) || path.contains(char::is_control);
    let mut parts = path.split('/').skip(1);
    !has_odd_characters && parts.all(|part| !part.is_empty() && part != "." && part != "..")
}
