//! Files that a command writes into a directory of the user, such as `limbeck types -o DIR`.
//!
//! The directory may be in a repository whose author is a stranger. A link in it would choose what a command overwrites,
//! so none is followed; a file is written as a new one and replaces the earlier one at once.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use crate::exit::CommandError;

/// Writes the file `name`, a relative path with `/`, below `directory`, which is created when it is missing.
///
/// `directory` itself may be a link: the user named it.
///
/// # Errors
///
/// A link below `directory`, and what the system reports.
pub(crate) fn write(directory: &Path, name: &str, text: &str) -> Result<(), CommandError> {
    if let Some(link) = link_below(directory, name) {
        let error = anyhow!(
            "{} is a link, and what a link leads to is not overwritten",
            link.display()
        );
        return Err(CommandError::usage(error)
            .with_hint("remove the link, or set another directory with `-o`"));
    }
    let path = directory.join(name);
    replace(&path, text)
        .with_context(|| format!("{} could not be written", path.display()))
        .map_err(|error| CommandError::usage(error).with_hint("set another directory with `-o`"))
}

/// The first link among the directories below `directory` and the file itself.
fn link_below(directory: &Path, name: &str) -> Option<PathBuf> {
    let mut path = directory.to_owned();
    name.split('/').find_map(|part| {
        path.push(part);
        path.is_symlink().then(|| path.clone())
    })
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".limbeck-");
    // As for every file that a command creates, the user's umask decides who may read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut fresh = builder.tempfile_in(directory)?;
    fresh.write_all(text.as_bytes())?;
    fresh.persist(path)?;
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn no_link_below_the_directory_is_followed_and_the_directory_may_be_one() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("real/into")).unwrap();
        fs::write(at("mine"), "MINE").unwrap();
        symlink(at("real"), at("named")).unwrap();
        symlink(at("mine"), at("real/file")).unwrap();
        symlink(at("nowhere"), at("real/dangling")).unwrap();
        symlink(at("real/into"), at("real/package")).unwrap();
        for (name, link) in [
            ("file", "file"),
            ("dangling", "dangling"),
            ("package/a.pyi", "package"),
        ] {
            let failure = write(&at("named"), name, "new").unwrap_err();
            let link = at("named").join(link).display().to_string();
            assert!(failure.error.to_string().starts_with(&link), "{failure:?}");
        }
        assert_eq!(fs::read_to_string(at("mine")).unwrap(), "MINE");
        assert!(!at("nowhere").exists());
        assert_eq!(fs::read_dir(at("real/into")).unwrap().count(), 0);
        // The control: files, earlier ones among them, and directories are written.
        for text in ["first", "second"] {
            write(&at("named"), "below/a.pyi", text).unwrap();
            assert_eq!(fs::read_to_string(at("real/below/a.pyi")).unwrap(), text);
        }
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(at("real/below/a.pyi")), mode(at("mine")));
        assert_eq!(fs::read_dir(at("real/below")).unwrap().count(), 1);
    }

    #[test]
    fn a_file_of_two_names_is_replaced_under_one_alone() {
        let place = tempfile::tempdir().unwrap();
        let mine = place.path().join("mine");
        fs::write(&mine, "MINE").unwrap();
        fs::hard_link(&mine, place.path().join("file")).unwrap();
        write(place.path(), "file", "new").unwrap();
        assert_eq!(fs::read_to_string(&mine).unwrap(), "MINE");
        let written = fs::read_to_string(place.path().join("file")).unwrap();
        assert_eq!(written, "new");
    }
}
