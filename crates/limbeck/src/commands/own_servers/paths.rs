//! Arguments of a local server that are paths, which depend on the directory in which the server starts.

use std::path::Path;

/// Beginnings of a path that depends on a directory.
const RELATIVE: &[&str] = if cfg!(windows) {
    &["./", "../", ".\\", "..\\"]
} else {
    &["./", "../"]
};

/// Whether a command is a path that depends on the directory in which the server starts.
pub(super) fn is_relative_command(command: &str) -> bool {
    let is_path = command.contains('/') || cfg!(windows) && command.contains('\\');
    let is_fixed = command.starts_with("~/") || command.starts_with("${");
    is_path && !is_fixed && !Path::new(command).is_absolute()
}

/// Whether an argument is the directory itself in which the server starts, or the one above it: all of its files.
pub(super) fn is_whole_directory(argument: &str) -> bool {
    let path = path_of(argument);
    path == "." || path == ".." || RELATIVE.contains(&path)
}

/// Whether an argument is written as a path that depends on a directory.
pub(super) fn is_relative(argument: &str) -> bool {
    let path = path_of(argument);
    let begins = |beginning: &&str| path.starts_with(*beginning);
    is_whole_directory(argument) || RELATIVE.iter().any(begins)
}

/// Whether an argument names a file or a directory in `directory`, such as `server.py`.
pub(super) fn is_found_in(argument: &str, directory: &Path) -> bool {
    let path = path_of(argument);
    let is_name = !path.is_empty() && !path.starts_with('-') && Path::new(path).is_relative();
    is_name && directory.join(path).exists()
}

/// The path in an argument, which may be behind an option: `--root=.`.
pub(super) fn path_of(argument: &str) -> &str {
    match argument.split_once('=') {
        Some((option, value)) if option.starts_with('-') => value,
        Some(_) | None => argument,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_depends_on_a_directory_is_distinguished_from_other_words() {
        for argument in [".", "..", "./", "--root=."] {
            assert!(is_whole_directory(argument), "{argument}");
            assert!(is_relative(argument), "{argument}");
        }
        for argument in ["./x", "../x", "--file=../x"] {
            assert!(!is_whole_directory(argument), "{argument}");
            assert!(is_relative(argument), "{argument}");
        }
        for argument in ["", "x", "/x", ".x", "...", "-", "a=.", "https://a.example"] {
            assert!(!is_relative(argument), "{argument}");
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("server.py"), "").unwrap();
        assert!(is_found_in("server.py", directory.path()));
        for argument in ["", "other.py", "--server.py"] {
            assert!(!is_found_in(argument, directory.path()), "{argument}");
        }
    }
}
