//! Texts with which the system runs sync in the background: systemd's user units, launchd's agent, a task of Windows.

use std::path::PathBuf;

use crate::clients::model::SetupError;
use crate::clients::own_program::own_program;
use crate::clients::table::{CLAUDE_CODE, CLIENTS};
use crate::world::{OperatingSystem, World};

/// Name of the units, and last part of the agent's label.
const NAME: &str = "limbeck-sync";
/// What runs. Background runs look at times and sizes, and open what changed.
const ARGUMENTS: [&str; 3] = ["sync", "--apply", "--background"];

/// A file with which the system runs sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleFile {
    /// Where it goes.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// The files for the system of `world`.
///
/// # Errors
///
/// [`SetupError::NoHome`], and [`SetupError::Program`] when there is no path that lasts.
pub fn schedule(world: &World) -> Result<Vec<ScheduleFile>, SetupError> {
    let program = own_program(world).map_err(|problem| SetupError::Program { problem })?;
    let paths = schedule_paths(world)?;
    let texts = match world.system {
        OperatingSystem::Linux => vec![
            systemd_service(&program),
            SYSTEMD_TIMER.to_owned(),
            systemd_path(world),
        ],
        OperatingSystem::MacOs => vec![launchd(world, &program)],
        OperatingSystem::Windows => vec![task(&program)],
    };
    let files = paths.into_iter().zip(texts);
    Ok(files
        .map(|(path, text)| ScheduleFile { path, text })
        .collect())
}

fn schedule_paths(world: &World) -> Result<Vec<PathBuf>, SetupError> {
    let home = world.home.clone().ok_or(SetupError::NoHome)?;
    let config = world.config_directory().ok_or(SetupError::NoHome)?;
    Ok(match world.system {
        OperatingSystem::Linux => ["service", "timer", "path"]
            .iter()
            .map(|kind| config.join(format!("systemd/user/{NAME}.{kind}")))
            .collect(),
        OperatingSystem::MacOs => vec![home.join(format!("Library/LaunchAgents/{NAME}.plist"))],
        OperatingSystem::Windows => vec![config.join("limbeck").join(format!("{NAME}.xml"))],
    })
}

/// Commands, each a program and its arguments, with which the system takes the files up, or lets them go.
///
/// # Errors
///
/// [`SetupError::NoHome`].
pub fn schedule_commands(world: &World, installs: bool) -> Result<Vec<Vec<String>>, SetupError> {
    let first = schedule_paths(world)?.into_iter().next();
    let file = first.unwrap_or_default().to_string_lossy().into_owned();
    let words = |line: &str| -> Vec<String> {
        let words = line.split(' ');
        words.map(|word| word.replace("FILE", &file)).collect()
    };
    let lines: &[&str] = match (world.system, installs) {
        (OperatingSystem::Linux, true) => &[
            "systemctl --user daemon-reload",
            "systemctl --user enable --now limbeck-sync.timer limbeck-sync.path",
        ],
        (OperatingSystem::Linux, false) => {
            &["systemctl --user disable --now limbeck-sync.timer limbeck-sync.path"]
        }
        (OperatingSystem::MacOs, true) => &["launchctl load -w FILE"],
        (OperatingSystem::MacOs, false) => &["launchctl unload -w FILE"],
        (OperatingSystem::Windows, true) => &["schtasks /Create /F /TN limbeck-sync /XML FILE"],
        (OperatingSystem::Windows, false) => &["schtasks /Delete /F /TN limbeck-sync"],
    };
    Ok(lines.iter().map(|line| words(line)).collect())
}

/// Files of clients that are watched. Claude Code writes its file with each message, so the timer looks at that one.
fn watched(world: &World) -> Vec<String> {
    let clients = CLIENTS.iter().filter(|client| client.id != CLAUDE_CODE);
    let paths = clients.flat_map(|client| client.paths(world));
    let there = paths.filter(|path| world.on_disk(path).exists());
    // A control character would end the line of a unit.
    let texts = there.map(|path| path.to_string_lossy().into_owned());
    texts
        .filter(|path| !path.chars().any(char::is_control))
        .collect()
}

fn systemd_service(program: &str) -> String {
    let word = |text: &str| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{}\"", text.replace('%', "%%").replace('$', "$$"))
    };
    let arguments = ARGUMENTS.join(" ");
    format!(
        "[Unit]
Description=Check of the entry for Limbeck in the files of MCP clients
Documentation=man:limbeck(1)
# A client may write its file often.
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart={} {arguments}
Nice=10
",
        word(program)
    )
}

const SYSTEMD_TIMER: &str = "[Unit]
Description=Hourly check of the entry for Limbeck in the files of MCP clients

[Timer]
OnStartupSec=2min
OnUnitActiveSec=1h
RandomizedDelaySec=5min

[Install]
WantedBy=timers.target
";

fn systemd_path(world: &World) -> String {
    let mut text = "[Unit]
Description=Check of the entry for Limbeck when the file of an MCP client changes

[Path]
"
    .to_owned();
    for path in watched(world) {
        text.push_str(&format!("PathChanged={}\n", path.replace('%', "%%")));
    }
    if !text.contains("PathChanged=") {
        // A unit without a path does not load; the user's own file of servers is one that there always may be.
        let config = world.config_directory().unwrap_or_default();
        let path = config.join("limbeck").join("imported.toml");
        let path = path.to_string_lossy().replace('%', "%%");
        text.push_str(&format!("PathChanged={path}\n"));
    }
    text.push_str(&format!(
        "Unit={NAME}.service\n\n[Install]\nWantedBy=default.target\n"
    ));
    text
}

fn launchd(world: &World, program: &str) -> String {
    let string = |text: &str| format!("    <string>{}</string>\n", xml(text));
    let arguments: String = std::iter::once(program)
        .chain(ARGUMENTS)
        .map(string)
        .collect();
    let watched: String = watched(world).iter().map(|path| string(path)).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
  <key>Label</key>
  <string>{NAME}</string>
  <key>ProgramArguments</key>
  <array>
{arguments}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>StartInterval</key>
  <integer>3600</integer>
  <key>ThrottleInterval</key>
  <integer>60</integer>
  <key>WatchPaths</key>
  <array>
{watched}  </array>
  <key>ProcessType</key>
  <string>Background</string>
</dict>
</plist>
"
    )
}

fn task(program: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>
<Task version=\"1.2\" xmlns=\"http://schemas.microsoft.com/windows/2004/02/mit/task\">
  <RegistrationInfo>
    <Description>Check of the entry for Limbeck in the files of MCP clients</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <Delay>PT2M</Delay>
    </LogonTrigger>
    <CalendarTrigger>
      <StartBoundary>2026-01-01T12:00:00</StartBoundary>
      <Enabled>true</Enabled>
      <ScheduleByDay>
        <DaysInterval>1</DaysInterval>
      </ScheduleByDay>
    </CalendarTrigger>
  </Triggers>
  <Principals>
    <Principal id=\"Author\">
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <ExecutionTimeLimit>PT10M</ExecutionTimeLimit>
    <Hidden>true</Hidden>
  </Settings>
  <Actions Context=\"Author\">
    <Exec>
      <Command>{}</Command>
      <Arguments>{}</Arguments>
    </Exec>
  </Actions>
</Task>
",
        xml(program),
        ARGUMENTS.join(" ")
    )
}

/// Text as it is written in XML.
fn xml(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
