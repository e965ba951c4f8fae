//! A command that runs beside other stages and takes only the processor time that they leave.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A script that gives itself the lowest priority and then becomes the command that follows it.
///
/// Linux shares processors between sessions first (`autogroup` in sched(7)), and `nice` counts only inside of one.
/// Servers and workers of tests have sessions of their own, so the command gets one too, and the session the lowest
/// priority. A session does not receive Ctrl-C: the command ends when its parent does.
const AT_LOWEST_PRIORITY: &str = r#"
{ echo 19 > /proc/self/autogroup; } 2> /dev/null
# 39 steps down from any priority end at the lowest, 19.
exec setpriv --pdeathsig TERM nice -n 39 "$@"
"#;

/// A command that was started, unless this system has no `setsid`.
#[must_use = "what the command makes is complete after `wait`"]
pub(crate) struct Background(Option<Child>);

impl Background {
    /// Starts `command` in `directory`. Its output is discarded, so a stage that needs its result repeats it.
    pub(crate) fn start(directory: &Path, command: &[&str]) -> Self {
        let child = Command::new("setsid")
            .args(["sh", "-c", AT_LOWEST_PRIORITY, "sh"])
            .args(command)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.ok())
    }

    /// Waits until the command has ended, with success or without.
    pub(crate) fn wait(self) {
        if let Some(mut child) = self.0 {
            // It cannot fail for a child that was not waited for.
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Background;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_command_has_run_at_the_lowest_priority_when_it_was_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        Background::start(directory.path(), &["sh", "-c", "nice > priority"]).wait();
        let priority = fs::read_to_string(directory.path().join("priority")).unwrap();
        assert_eq!(priority.trim(), "19");
    }

    #[test]
    fn a_command_that_does_not_exist_is_waited_for_too() {
        let directory = tempfile::tempdir().unwrap();
        Background::start(directory.path(), &["/nonexistent/command"]).wait();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
