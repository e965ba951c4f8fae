//! Checks whose result depends on files of the checkout alone, so that they need not run twice for the same files.
//!
//! After such a check has passed, the hash of its inputs is written to a file of `.config`, which is committed. While the
//! inputs of a checkout have that hash, the check compares hashes only. A change of any input has it run again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use crate::guests;

/// The inputs of one check.
#[derive(Debug)]
pub(crate) struct Inputs {
    /// The file with the hash of the last inputs that passed, relative to the root.
    file: &'static str,
    hash: String,
}

impl Inputs {
    /// Hashes `what` (the check and its versions), then name and contents of each file of `names`, which are relative
    /// to `root`.
    ///
    /// # Errors
    ///
    /// When a file cannot be read.
    pub(crate) fn read(
        root: &Path,
        file: &'static str,
        what: &str,
        mut names: Vec<PathBuf>,
    ) -> anyhow::Result<Self> {
        let mut hash = Sha256::new();
        hash.update(format!("{what}\n"));
        names.sort();
        for name in names {
            let bytes =
                fs::read(root.join(&name)).with_context(|| format!("read {}", name.display()))?;
            hash.update(format!("{}\n{}\n", name.display(), bytes.len()));
            hash.update(&bytes);
        }
        let hash = guests::hex(&hash.finalize());
        Ok(Self { file, hash })
    }

    /// Whether the last check that passed had the same inputs.
    pub(crate) fn passed_before(&self, root: &Path) -> bool {
        fs::read_to_string(root.join(self.file)).is_ok_and(|text| text.trim() == self.hash)
    }

    /// Writes down that the check has passed.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub(crate) fn passed(&self, root: &Path) -> anyhow::Result<()> {
        fs::write(root.join(self.file), format!("{}\n", self.hash))?;
        eprintln!("passed; commit {}", self.file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::Inputs;

    #[test]
    fn a_check_passed_before_only_for_the_same_names_contents_and_versions() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).expect("written");
        let inputs = |what: &str| {
            let names = ["a", "b"].map(PathBuf::from);
            let names = names.into_iter().filter(|name| root.join(name).exists());
            Inputs::read(root, "verified", what, names.collect()).expect("every file is there")
        };
        write("a", "1");
        write("b", "2");
        assert!(!inputs("check 1").passed_before(root));
        inputs("check 1").passed(root).expect("written");
        assert!(inputs("check 1").passed_before(root));
        write("c", "not an input");
        assert!(inputs("check 1").passed_before(root));
        assert!(!inputs("check 2").passed_before(root));
        write("b", "3");
        assert!(!inputs("check 1").passed_before(root));
        write("b", "2");
        assert!(inputs("check 1").passed_before(root));
        fs::remove_file(root.join("b")).expect("removed");
        assert!(!inputs("check 1").passed_before(root));
    }

    #[test]
    fn an_input_that_cannot_be_read_is_an_error() {
        let directory = tempfile::tempdir().expect("a directory");
        let read = Inputs::read(directory.path(), "verified", "", vec!["gone".into()]);
        assert!(read.is_err());
    }
}
