//! The executable that serves as worker.

use std::path::PathBuf;

/// Which executable serves as worker.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// Absolute path of a `limbeck` executable.
    pub path: PathBuf,
    /// Layers that are not put up, to prove what each is worth.
    #[cfg(feature = "assume-escape")]
    pub without: Vec<limbeck_domain::Layer>,
    /// Leaves workers out of a memory control group, to prove what it is worth.
    #[cfg(feature = "assume-escape")]
    pub without_memory_group: bool,
}

impl WorkerProgram {
    /// The executable at `path`, an absolute one.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            #[cfg(feature = "assume-escape")]
            without: Vec::new(),
            #[cfg(feature = "assume-escape")]
            without_memory_group: false,
        }
    }

    /// Whether workers are put into a memory control group where there is a place for one.
    #[cfg(target_os = "linux")]
    pub(crate) fn wants_memory_group(&self) -> bool {
        #[cfg(feature = "assume-escape")]
        return !self.without_memory_group;
        #[cfg(not(feature = "assume-escape"))]
        true
    }

    #[cfg(feature = "assume-escape")]
    pub(crate) fn add_test_arguments(&self, command: &mut tokio::process::Command) {
        use limbeck_domain::Layer;
        if self.without.contains(&Layer::Environment) {
            command.env("CANARY", "sings");
        }
        if !self.without.is_empty() {
            let names: Vec<&str> = self.without.iter().map(|layer| layer.as_str()).collect();
            command.arg(names.join(","));
        }
    }
}
